#pragma once
/// \file
/// The warp that multiplies.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "solutions/04_per_k_contexts/mma_k_stage.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"

namespace bw {

/// One lane: the four MMAs of one K block; the first overwrites the accumulator.
template <class Config>
__device__ __forceinline__ void multiply_k_block(const typename Config::Payload& payload,
                                                 uint32_t stage, uint32_t accumulator) {
  constexpr uint32_t kInstruction =
      make_e4m3_instruction_descriptor<Config::traits.mma_m, Config::kMmaN, Config::kCtaGroup>();
  const uint64_t a =
      make_k_major_descriptor(ptx::shared_address(payload.a_tile(stage)), Config::kSwizzle);
  const uint64_t b =
      make_k_major_descriptor(ptx::shared_address(payload.b_tile(stage)), Config::kSwizzle);
#pragma unroll
  for (int k = 0; k < Config::kTileK; k += Config::kMmaK) {
    ptx::tcgen05_mma_f8f6f4<Config::kCtaGroup>(accumulator, advance_descriptor(a, k),
                                               advance_descriptor(b, k), kInstruction,
                                               /*accumulate=*/k > 0);
  }
}

/// The lane that issued the MMAs: releases the input stage in every CTA that sent part of it.
template <class Config>
__device__ __forceinline__ void release_input(const GemmCta<Config>& cta, SharedMemBarrier* empty) {
  if constexpr (Config::Cluster::kSize == 1) {
    ptx::tcgen05_commit<Config::kCtaGroup>(empty->address());
  } else {
    ptx::tcgen05_commit_multicast<Config::kCtaGroup>(empty->address(),
                                                     cta.cluster.input_empty_mask());
  }
}

/// MMA warp: multiplies one K block into each accumulator stage. In cta_group 2 the leader's warp
/// does so for both; its peer's owns its tensor memory and takes the tiles' messages.
template <class Config>
__device__ __forceinline__ void multiply(const GemmCta<Config>& cta) {
  auto mma = Config::MmaWarp::create(&cta.shared.tmem_address, cta.shared.accumulator_barriers,
                                     &cta.shared.tmem_dealloc, cta.complete_mask());
  auto input = cta.input_pipeline();
  auto consumer = input.consumer();
  auto tiles = cta.tile_scheduler();
  WorkTile tile;
  while (tiles.next(tile)) {
    if (!cta.cluster.is_leader()) continue;
    for (uint32_t k_block = 0; k_block < cta.args.k_blocks; ++k_block) {
      auto accumulator = mma.per_k_stage();
      auto operands = consumer.acquire();
      if (ptx::elect_one()) {
        multiply_k_block<Config>(operands.payload(), operands.tile_index(),
                                 accumulator.stage().tmem().offset());
        release_input(cta, operands.barrier());
      }
      __syncwarp();
    }
  }
}

}  // namespace bw
