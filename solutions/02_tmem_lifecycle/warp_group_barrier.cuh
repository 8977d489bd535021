#pragma once
/// \file
/// A named barrier among some warps of the CTA (contract, chapter 2).

#include "common/device/named_barrier.cuh"

namespace bw {

/// `Threads` threads meet on named barrier `Id` (1 … 15). The instruction is .aligned: after a
/// branch that one lane took the warp comes together first.
template <int Threads, int Id>
struct WarpGroupBarrier {
  static constexpr int kThreads = Threads;  ///< that take part
  static constexpr int kId = Id;            ///< of the named barrier

  /// Arrives without waiting: for the side that only announces.
  static __device__ __forceinline__ void arrive() {
    __syncwarp();
    ptx::bar_arrive<Id, Threads>();
  }
  /// Arrives and waits for all.
  static __device__ __forceinline__ void sync() {
    __syncwarp();
    ptx::bar_sync<Id, Threads>();
  }
  /// The same as `sync`: waiting counts as an arrival.
  static __device__ __forceinline__ void wait() { sync(); }
};

}  // namespace bw
