#pragma once
/// \file
/// Completion of asynchronous tcgen05 operations through an mbarrier (PTX ISA,
/// "tcgen05.commit"). It covers the earlier operations of the executing thread, so it is called
/// by the very lane that issued them, and only by that lane: 32 lanes would arrive 32 times.

#include <cstdint>

namespace bw::ptx {

// tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}.b64 [mbar];
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// One arrival on `barrier` when all earlier operations of this thread are complete.
template <int cta_group>
__device__ __forceinline__ void tcgen05_commit(uint32_t barrier) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  asm volatile(
      "tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier),
      "n"(cta_group)
      : "memory");
}

// tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}.multicast::cluster.b64
//     [mbar], ctaMask;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// As `tcgen05_commit`, on the barrier of the same offset in every CTA of `cta_mask`.
template <int cta_group>
__device__ __forceinline__ void tcgen05_commit_multicast(uint32_t barrier, uint16_t cta_mask) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  asm volatile(
      "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
      " [%0], %1;" ::"r"(barrier),
      "h"(cta_mask), "n"(cta_group)
      : "memory");
}

}  // namespace bw::ptx
