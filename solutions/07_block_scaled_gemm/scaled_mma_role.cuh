#pragma once
/// \file
/// The warp that copies scales into tensor memory and multiplies.

#include <cstdint>

#include "common/device/block_scaled_descriptor.cuh"
#include "common/device/elect.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tcgen05_copy.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_mma_block_scale.cuh"
#include "solutions/05_blockwise_fp8_gemm/mma_role.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_cta.cuh"

namespace bw {

/// One lane: copies the scales of the K block in `stage` to a set of columns, atom by atom; in a
/// pair, of both CTAs. Asynchronous; this lane's later MMAs come after it.
template <class Config>
__device__ __forceinline__ void copy_sf_tmem(const typename Config::Payload& payload,
                                             uint32_t stage, uint32_t sfa, uint32_t sfb) {
  using Tmem = typename Config::Tmem;
  const uint64_t a = make_scale_atom_descriptor(ptx::shared_address(payload.sfa_tile(stage)));
  const uint64_t b = make_scale_atom_descriptor(ptx::shared_address(payload.sfb_tile(stage)));
#pragma unroll
  for (int atom = 0; atom < Tmem::kAtoms; ++atom) {
    ptx::tcgen05_cp_32x128b_warpx4<Config::kCtaGroup>(
        sfa + atom * kScaleAtomColumns, advance_descriptor(a, atom * kScaleAtomBytes));
#pragma unroll
    for (int part = 0; part < Config::kBScaleParts; ++part) {
      ptx::tcgen05_cp_32x128b_warpx4<Config::kCtaGroup>(
          sfb + atom * Tmem::kBAtomColumns + part * kScaleAtomColumns,
          advance_descriptor(b, (part * Tmem::kAtoms + atom) * kScaleAtomBytes));
    }
  }
}

/// One lane: D (+)= A · Bᵀ over the K block in `stage`, with the scales at `sfa` and
/// `sfb`.
template <class Config>
__device__ __forceinline__ void multiply_scaled_block(const typename Config::Payload& payload,
                                                      uint32_t stage, uint32_t d, uint32_t sfa,
                                                      uint32_t sfb, bool accumulate) {
  using Tmem = typename Config::Tmem;
  constexpr BlockFormat kFormat = Config::kFormat;
  const uint64_t a =
      make_k_major_descriptor(ptx::shared_address(payload.a_tile(stage)), Swizzle::k128B);
  const uint64_t b =
      make_k_major_descriptor(ptx::shared_address(payload.b_tile(stage)), Swizzle::k128B);
#pragma unroll
  for (int mma = 0; mma < kMmasPerKBlock; ++mma) {
    const int atom = scale_atom_of_mma(kFormat, mma);
    const uint32_t instruction =
        make_block_scaled_instruction_descriptor<kFormat, Config::traits.mma_m, Config::kMmaN,
                                                 Config::kCtaGroup>(scale_id_of_mma(kFormat, mma));
    ptx::tcgen05_mma_block_scaled<kFormat, Config::kCtaGroup>(
        d, advance_descriptor(a, mma * kBlockScaledMmaBytes),
        advance_descriptor(b, mma * kBlockScaledMmaBytes), instruction,
        sfa + atom * kScaleAtomColumns, sfb + atom * Tmem::kBAtomColumns, accumulate || mma > 0);
  }
}

/// The sets of scales in tensor memory, which the K blocks take in turn.
template <class Config>
class ScaleSets {
  using Tmem = typename Config::Tmem;
  /// With a set for every input stage, a full stage says that its set is free: its loads waited for
  /// the commit of the MMAs that read both.
  static constexpr bool kFollowsInput = Tmem::kNumSets == Config::kNumInputStages;

 public:
  /// `input`: the input ring, at its beginning.
  __device__ __forceinline__ explicit ScaleSets(const typename Config::InputPipeline& input)
      : finished_(input) {
    if constexpr (!kFollowsInput) {
      // From the producer's second lap on, waiting for an empty stage is waiting for the MMAs that
      // read the stage one lap before: the cursor follows kNumSets K blocks after the MMAs.
#pragma unroll
      for (int stage = 0; stage < Config::kNumInputStages; ++stage) {
        finished_.pipeline.producer_step();
      }
    }
  }

  /// Whole MMA warp, once for each K block: the next set, once no MMA reads it any more.
  __device__ __forceinline__ uint32_t acquire() {
    if constexpr (!kFollowsInput) {
      if (used_ < Tmem::kNumSets) {
        ++used_;
      } else {
        finished_.wait_empty();
        finished_.pipeline.producer_step();
      }
    }
    ptx::tcgen05_fence_after_thread_sync();
    const uint32_t set = next_;
    next_ = next_ + 1 == Tmem::kNumSets ? 0 : next_ + 1;
    return set;
  }

 private:
  typename Config::InputPipeline finished_;
  uint32_t next_ = 0;
  uint32_t used_ = 0;
};

/// MMA warp: copies the scales of one K block after the other and multiplies it into the tile's
/// accumulator. In cta_group 2 the leader's warp does so for both CTAs.
template <class Config>
__device__ __forceinline__ void multiply_scaled(const BlockScaledCta<Config>& cta) {
  using Tmem = typename Config::Tmem;
  auto mma = Config::MmaWarp::create(&cta.shared.tmem_address, cta.shared.accumulator_barriers,
                                     &cta.shared.tmem_dealloc, cta.complete_mask());
  const uint32_t tmem = mma.tmem().addr;
  auto input = cta.input_pipeline();
  auto consumer = input.consumer();
  ScaleSets<Config> sets(input);
  auto tiles = cta.tile_scheduler();
  WorkTile tile;
  for (uint32_t count = 0; tiles.next(tile); ++count) {
    if (!cta.cluster.is_leader()) continue;
    // The scales of B may begin inside of their first atom.
    const uint32_t skipped = cta.column_of(tile) % kScaleAtomRows / kScaleRowsPerColumn;
    auto accumulator = mma.output_pipeline().producer().acquire();
    const uint32_t d = accumulator.tmem().offset() + Tmem::accumulator_offset(count);
    for (uint32_t k_block = 0; k_block < cta.args.k_blocks; ++k_block) {
      auto operands = consumer.acquire();
      const uint32_t set = sets.acquire();
      if (ptx::elect_one()) {
        const uint32_t index = operands.tile_index();
        const uint32_t sfa = tmem + Tmem::sfa(set), sfb = tmem + Tmem::sfb(set);
        copy_sf_tmem<Config>(operands.payload(), index, sfa, sfb);
        multiply_scaled_block<Config>(operands.payload(), index, d, sfa, sfb + skipped,
                                      /*accumulate=*/k_block > 0);
        release_input(cta, operands.barrier());
      }
      __syncwarp();
    }
  }
}

}  // namespace bw
