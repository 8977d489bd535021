#pragma once
/// \file
/// The warp that multiplies.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/04_per_k_contexts/output_k_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"

namespace bw {

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

/// MMA warp: multiplies one K block into each accumulator stage; while it waits for an empty one,
/// it already knows whether the operands are there. A stage of operands is released when all of its
/// K blocks are multiplied. In cta_group 2 the leader's warp does so for
/// both; its peer's owns its tensor memory and takes the tiles' messages.
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
      const KGroupPlace place = place_in_group<Config::kKGroupSize>(k_block, cta.args.k_blocks);
      const bool ready = place.index > 0 || consumer.try_acquire();
      auto accumulator = mma.per_k_stage();
      auto operands = consumer.acquire_block(place, ready);
      if (ptx::elect_one()) {
        const uint32_t index = operands.tile_index();
        multiply_k_block<Config::traits.mma_m, Config::kMmaN, Config::kCtaGroup>(
            accumulator.stage().tmem().offset(), operands.payload().a_tile(index),
            operands.payload().b_tile(index), /*accumulate=*/false);
        if (place.is_last) release_input(cta, operands.barrier());
      }
      __syncwarp();
    }
  }
}

}  // namespace bw
