#pragma once
/// \file
/// The two warps that load: A, B and A-scales; and C.

#include <cuda.h>

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"

namespace bw {

/// One copy of an operand: the box at (`inner`, `outer`) of its matrix, `inner` counted along the
/// contiguous dimension, into `destination`, in this CTA, or with `slices` > 1 in all CTAs of
/// `mask`, whose barriers at the offset of `full` get the bytes. In cta_group 2 `full` is the
/// leader's.
template <int cta_group, int slices>
__device__ __forceinline__ void load_operand(const void* destination, const CUtensorMap& map,
                                             uint32_t full, int32_t inner, int32_t outer,
                                             uint16_t mask) {
  const uint32_t address = ptx::shared_address(destination);
  if constexpr (cta_group == 1 && slices == 1) {
    ptx::tma_load_2d(address, &map, full, inner, outer);
  } else if constexpr (cta_group == 1) {
    ptx::tma_load_2d_multicast(address, &map, full, inner, outer, mask);
  } else if constexpr (slices == 1) {
    ptx::tma_load_2d_pair(address, &map, full, inner, outer);
  } else {
    ptx::tma_load_2d_multicast_pair(address, &map, full, inner, outer, mask);
  }
}

/// One lane: this CTA's copies of A and B for one K block, `stage` counting K blocks of the ring.
/// Tiles that CTAs of the cluster share are loaded in slices, one by each, and multicast.
template <class Config>
__device__ __forceinline__ void load_a_and_b(const GemmCta<Config>& cta,
                                             const typename Config::Payload& payload,
                                             uint32_t stage, uint32_t full, uint32_t k_block,
                                             int32_t row, int32_t column) {
  constexpr int kGroup = Config::kCtaGroup;
  constexpr int kASlices = Config::traits.a_slices(), kBSlices = Config::traits.b_slices();
  constexpr int kASliceRows = Config::kCtaRows / kASlices;
  constexpr int kBRows = Config::traits.cta_b_rows(), kBSliceRows = kBRows / kBSlices;
  const auto& cluster = cta.cluster;
  const int32_t k = k_block * Config::kTileK;
  const uint32_t a_row = kASliceRows * cluster.rank_n;
  const uint32_t b_row = cluster.rank_m / kGroup * kBSliceRows;
  // With cta_group 2 the leader holds the first half of the tile's columns, its peer the second.
  const uint32_t b_half = kBRows * (cluster.rank_m % kGroup);

  load_operand<kGroup, kASlices>(payload.a_tile(stage) + a_row * Config::kTileK, cta.args.a, full,
                                 k, a_row + row, cluster.a_multicast_mask());
  load_operand<kGroup, kBSlices>(payload.b_tile(stage) + b_row * Config::kTileK, cta.args.b, full,
                                 k, column + b_row, cluster.b_multicast_mask());
}

/// One lane: this CTA's copies of one K block: A, B, and the A-scales, which are its own.
template <class Config>
__device__ __forceinline__ void load_k_block(const GemmCta<Config>& cta,
                                             const typename Config::Payload& payload,
                                             uint32_t stage, uint32_t full, uint32_t k_block,
                                             int32_t row, int32_t column) {
  load_a_and_b(cta, payload, stage, full, k_block, row, column);
  load_operand<Config::kCtaGroup, /*slices=*/1>(payload.a_scales_tile(stage), cta.args.a_scales,
                                                full, row, k_block, /*mask=*/0);
}

/// Load warp: fills the input ring with one group of K blocks after the other. A tile's last group
/// may be incomplete: what isn't loaded isn't expected either.
template <class Config>
__device__ __forceinline__ void load_operands(const GemmCta<Config>& cta) {
  auto input = cta.input_pipeline();
  auto producer = input.producer();
  auto load_order = cta.load_order();
  auto tiles = cta.tile_scheduler();
  const uint32_t k_blocks = cta.args.k_blocks;
  constexpr uint32_t kBlocksPerStage = Config::kKGroupSize;
  const uint32_t first_loads = min(k_blocks, Config::kNumInputStages * kBlocksPerStage);
  ptx::grid_dependency_wait();
  WorkTile tile;
  while (tiles.next(tile)) {
    tiles.throttle_signal();
    const int32_t row = cta.row_of(tile), column = cta.column_of(tile);
    for (uint32_t k_block = 0; k_block < k_blocks; k_block += kBlocksPerStage) {
      const uint32_t blocks = kBlocksPerStage == 1 ? 1 : min(kBlocksPerStage, k_blocks - k_block);
      auto stage = producer.acquire();
      if (ptx::elect_one()) {
        const uint32_t own_full = stage.barrier()->address();
        const uint32_t full = Config::kCtaGroup == 2 ? ptx::leader_address(own_full) : own_full;
        if (cta.cluster.is_leader()) stage.expect_bytes(blocks * Config::kInputBlockBytes);
        for (uint32_t i = 0; i < blocks; ++i) {
          load_k_block(cta, stage.payload(), stage.tile_index(i), full, k_block + i, row, column);
        }
        if (k_block + blocks == first_loads && cta.args.has_residual) load_order.arrive();
      }
      __syncwarp();
    }
    load_order.step();
  }
  if (ptx::elect_one()) ptx::grid_dependency_launch_dependents();
  producer.drain();
}

/// Epilogue-load warp: prefetches the slices of C that the epilogue adds.
template <class Config>
__device__ __forceinline__ void load_residual(const GemmCta<Config>& cta) {
  using Slice = typename Config::Slice;
  using Layout = typename Config::Accumulator::Layout;
  auto epi_load = cta.epi_load_pipeline();
  auto load_order = cta.load_order();
  auto tiles = cta.tile_scheduler();
  ptx::grid_dependency_wait();
  WorkTile tile;
  while (tiles.next(tile)) {
    if (!cta.args.has_residual) continue;
    const int32_t row = cta.row_of(tile), column = cta.column_of(tile);
    load_order.wait();
    load_order.step();
    for (int slice = 0; slice < Slice::kPerTile; ++slice) {
      auto stage = epi_load.produce();
      // Right lines, not shown here: you write them in exercise 5.1.
      //
      //
      //
      //
      //
      //
      //
      //
      //
      __syncwarp();
    }
  }
}

}  // namespace bw
