#pragma once
/// \file
/// The hand-over that ends the life of tensor memory (contract, chapter 2).

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/exercise.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"

namespace bw {

/// One mbarrier, used once: every epilogue thread says that it has read its last accumulator,
/// then the MMA warp deallocates. With cta_group 2 both CTAs of the pair must have said so,
/// because the leader's MMAs write, and each CTA's deallocation ends, both tensor memories.
template <int CtaGroup, int epilogue_threads = 128>
struct TmemDeallocBarrier {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");
  /// Readers of both CTAs of a pair.
  static constexpr uint32_t kArrivals = epilogue_threads * CtaGroup;

  SharedMemBarrier* barrier;  ///< in shared memory

  /// One thread of each CTA, with the other barriers.
  __device__ __forceinline__ void init_barrier() const { barrier->init(kArrivals); }

  /// Every epilogue thread, after its last `wait_load`: peer CTA first, then its own.
  __device__ __forceinline__ void signal_complete() const {
    ptx::tcgen05_fence_before_thread_sync();
    if constexpr (CtaGroup == 2) {
      const uint32_t peer_rank = ptx::cluster_cta_rank() ^ 1;
      ptx::mbarrier_arrive_cluster(ptx::map_to_cta(barrier->address(), peer_rank));
    }
    barrier->arrive();
  }

  /// Whole MMA warp: gives up the right to allocate, waits for every epilogue thread, frees.
  template <int MaxCols>
  __device__ __forceinline__ void complete_dealloc(
      const TmemAllocation<CtaGroup, MaxCols>& tmem) const {
    // >>> exercise 2.7 "Give the columns back"
    constexpr uint32_t kOnlyPhase = 0;
    tmem.release_lock();
    barrier->template wait_for_pair<CtaGroup>(kOnlyPhase);
    __syncwarp();
    ptx::tcgen05_fence_after_thread_sync();
    tmem.deallocate();
    // <<< exercise 2.7
  }
};

}  // namespace bw
