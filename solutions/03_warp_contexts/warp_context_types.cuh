#pragma once
/// \file
/// The types that the MMA warp's and the epilogue's contexts share (contract, chapter 3).

#include <cstdint>

#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/03_warp_contexts/output_tile_pipeline.cuh"

namespace bw {

/// Both contexts name the same types through this, so that they can't disagree.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct WarpContextTypes {
  static_assert(mma_threads == 32, "one warp issues the MMAs and owns the tensor memory");
  static_assert(
      epilogue_threads == 128 || epilogue_threads == 256,
      "four warps read the four lane quarters of TMEM; two such groups may share the columns");
  static_assert(
      epilogue_threads == opc.epilogue_threads,
      "the barriers are initialised for opc.epilogue_threads arrivals, so that many threads"
      " must take part");
  static constexpr int kTmemReadyBarrierId = 1;

  using Tmem = TmemAllocation<opc.cta_group>;
  using Pipeline = OutputTilePipeline<opc>;
  using Dealloc = TmemDeallocBarrier<opc.cta_group, epilogue_threads>;
  using Sync = WarpGroupBarrier<mma_threads + epilogue_threads, kTmemReadyBarrierId>;
};

/// CTAs whose accumulator-full barrier a commit of this CTA's MMA warp signals: with cta_group 2
/// the pair (rank and rank ^ 1), with cta_group 1 itself.
template <int cta_group>
__device__ __forceinline__ uint16_t mma_complete_mask(uint32_t cta_rank) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  const uint32_t own = 1u << cta_rank;
  return static_cast<uint16_t>(cta_group == 2 ? own | 1u << (cta_rank ^ 1) : own);
}

}  // namespace bw
