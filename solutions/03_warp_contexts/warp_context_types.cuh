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
  /// Named barrier after which the address of tensor memory may be read.
  static constexpr int kTmemReadyBarrierId = 1;

  using Tmem = TmemAllocation<opc.cta_group>;  ///< the allocation of tensor memory
  using Pipeline = OutputTilePipeline<opc>;    ///< the ring of accumulators
  /// The barrier that ends the life of tensor memory.
  using Dealloc = TmemDeallocBarrier<opc.cta_group, epilogue_threads>;
  /// The barrier after which the address of tensor memory may be read.
  using Sync = WarpGroupBarrier<mma_threads + epilogue_threads, kTmemReadyBarrierId>;
};

/// What both contexts hold. Each is made once and ends once, by its destructor.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
class WarpContextParts {
 public:
  /// The types that all contexts share.
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using Tmem = typename Types::Tmem;          ///< the allocation of tensor memory
  using Pipeline = typename Types::Pipeline;  ///< the ring of accumulators
  using Dealloc = typename Types::Dealloc;    ///< the barrier that ends the life of tensor memory
  /// The barrier after which the address of tensor memory may be read.
  using Sync = typename Types::Sync;

  WarpContextParts(const WarpContextParts&) = delete;
  WarpContextParts& operator=(const WarpContextParts&) = delete;

  /// The allocation.
  __device__ __forceinline__ const Tmem& tmem() const { return tmem_; }
  /// The ring of accumulators.
  __device__ __forceinline__ Pipeline& output_pipeline() { return output_pipeline_; }
  /// The barrier that ends the life of tensor memory.
  __device__ __forceinline__ const Dealloc& dealloc_barrier() const { return dealloc_barrier_; }

 protected:
  /// Keeps what both contexts share.
  __device__ __forceinline__ WarpContextParts(const Tmem& tmem, const Pipeline& output_pipeline,
                                              const Dealloc& dealloc_barrier)
      : tmem_(tmem), output_pipeline_(output_pipeline), dealloc_barrier_(dealloc_barrier) {}
  ~WarpContextParts() = default;

  /// The accumulator ring over `2 * opc.num_stages` barriers.
  static __device__ __forceinline__ Pipeline pipeline_over(SharedMemBarrier* accum_barriers_ptr,
                                                           const Tmem& tmem,
                                                           uint16_t mma_complete_mask) {
    return {typename Pipeline::Pipeline(accum_barriers_ptr), tmem, mma_complete_mask};
  }

 private:
  Tmem tmem_;
  Pipeline output_pipeline_;
  Dealloc dealloc_barrier_;
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
