#pragma once
/// \file
/// The mbarrier as a type: what the pipelines store in shared memory.

#include <cstddef>
#include <cstdint>

#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"

namespace bw {

/// One mbarrier object in shared memory. Never copied; all threads reach it by pointer.
struct alignas(8) SharedMemBarrier {
  uint64_t opaque_state;  ///< to be touched by mbarrier instructions alone

  /// Shared-window address of this barrier, for instructions that signal it.
  __device__ __forceinline__ uint32_t address() const { return ptx::shared_address(this); }

  /// One thread, before a fence (`ptx::fence_mbarrier_init`) and a CTA or cluster barrier.
  __device__ __forceinline__ void init(uint32_t arrivals) {
    ptx::mbarrier_init(address(), arrivals);
  }

  /// One arrival of the calling thread.
  __device__ __forceinline__ void arrive() { ptx::mbarrier_arrive(address()); }

  /// One arrival on the barrier of this offset in the leader of the CTA pair; without a pair
  /// (cta_group 1), on this barrier.
  template <int cta_group>
  __device__ __forceinline__ void arrive_on_leader() {
    static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
    if constexpr (cta_group == 1) {
      arrive();
    } else {
      ptx::mbarrier_arrive_cluster(ptx::leader_address(address()));
    }
  }

  /// The same for "I have read it", which publishes nothing: the calling thread does not wait for
  /// its earlier memory operations, as it does where it tells another CTA of what it has written.
  /// Reads of tensor memory are ordered by `tcgen05_fence_before_thread_sync` before it (PTX ISA,
  /// "tcgen05 memory consistency model").
  template <int cta_group>
  __device__ __forceinline__ void arrive_on_leader_as_reader() {
    static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
    if constexpr (cta_group == 1) {
      arrive();
    } else {
      ptx::mbarrier_arrive_remote(ptx::leader_address(address()));
    }
  }

  /// One arrival together with the bytes that this phase's bulk copies will bring.
  __device__ __forceinline__ void arrive_and_expect_bytes(uint32_t bytes) {
    ptx::mbarrier_arrive_expect_tx(address(), bytes);
  }

  /// Tests once whether the phase of this parity has completed.
  __device__ __forceinline__ bool try_wait(uint32_t parity) const {
    return ptx::mbarrier_test_wait_parity(address(), parity);
  }

  /// Blocks until the phase of this parity has completed.
  __device__ __forceinline__ void wait(uint32_t parity) const {
    while (!ptx::mbarrier_try_wait_parity(address(), parity)) {
    }
  }

  /// The same for phases that threads of other CTAs arrive in: acquires at cluster scope.
  __device__ __forceinline__ void wait_cluster(uint32_t parity) const {
    while (!ptx::mbarrier_try_wait_parity_cluster(address(), parity)) {
    }
  }

  /// As `try_wait`, acquiring at cluster scope.
  __device__ __forceinline__ bool try_wait_cluster(uint32_t parity) const {
    return ptx::mbarrier_test_wait_parity_cluster(address(), parity);
  }

  /// As `wait`, for phases that threads of the other CTA of a pair complete too: with cta_group 2
  /// it acquires at cluster scope.
  template <int cta_group>
  __device__ __forceinline__ void wait_for_pair(uint32_t parity) const {
    static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
    if constexpr (cta_group == 1) {
      wait(parity);
    } else {
      wait_cluster(parity);
    }
  }
};

static_assert(sizeof(SharedMemBarrier) == 8, "an mbarrier object is 64 bits");

/// Production libraries for sm_100 keep barriers in the first 8 KiB of shared memory. The system
/// has the first of them, so that this much of a CTA's own is left.
constexpr size_t kBarrierRegionBytes = 7 * 1024;

}  // namespace bw
