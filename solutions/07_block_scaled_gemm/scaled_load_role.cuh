#pragma once
/// \file
/// The warp that loads A, B and their scales.

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/load_roles.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_cta.cuh"

namespace bw {

/// One lane: this CTA's copies of the scales of one K block. In a pair, each CTA's tensor memory
/// needs its own A-scales, and the B-scales of all columns of D. Each CTA loads all of SFB: loading
/// half and multicasting it to both was 1.4 % slower (simulated, MXFP8, 4096³), because the copies
/// are so small that receiving one more costs more than its bytes.
template <class Config>
__device__ __forceinline__ void load_scales(const BlockScaledCta<Config>& cta,
                                            const typename Config::Payload& payload, uint32_t stage,
                                            uint32_t full, uint32_t k_block, int32_t row,
                                            int32_t column) {
  constexpr int kGroup = Config::kCtaGroup;
  const int32_t k = k_block * (Config::Payload::kScalePartBytes / kScaleMapUnitBytes);
  load_operand<kGroup, /*slices=*/1>(payload.sfa_tile(stage), cta.args.a_scales, full, k,
                                     row / kScaleAtomRows, /*mask=*/0);
  load_operand<kGroup, /*slices=*/1>(payload.sfb_tile(stage), cta.scaled.b_scales, full, k,
                                     column / kScaleAtomRows, /*mask=*/0);
}

/// Load warp: fills the input ring with one K block after the other.
template <class Config>
__device__ __forceinline__ void load_scaled_operands(const BlockScaledCta<Config>& cta) {
  auto input = cta.input_pipeline();
  auto producer = input.producer();
  auto load_order = cta.load_order();
  auto tiles = cta.tile_scheduler();
  const uint32_t k_blocks = cta.args.k_blocks;
  const uint32_t first_loads = min(k_blocks, Config::kNumInputStages);
  ptx::grid_dependency_wait();
  WorkTile tile;
  while (tiles.next(tile)) {
    tiles.throttle_signal();
    const int32_t row = cta.row_of(tile), column = cta.column_of(tile);
    for (uint32_t k_block = 0; k_block < k_blocks; ++k_block) {
      auto stage = producer.acquire();
      if (ptx::elect_one()) {
        const uint32_t own_full = stage.barrier()->address(), index = stage.tile_index();
        const uint32_t full = Config::kCtaGroup == 2 ? ptx::leader_address(own_full) : own_full;
        if (cta.cluster.is_leader()) stage.expect_bytes(Config::kInputStageBytes);
        // Coordinates along K are bytes, which hold one element or two.
        load_a_and_b<Config>(cta, stage.payload(), index, full, k_block, row, column);
        load_scales(cta, stage.payload(), index, full, k_block, row, column);
        if (k_block + 1 == first_loads && cta.args.has_residual) load_order.arrive();
      }
      __syncwarp();
    }
    load_order.step();
  }
  if (ptx::elect_one()) ptx::grid_dependency_launch_dependents();
  producer.drain();
}

}  // namespace bw
