#pragma once
/// \file
/// Ordering of asynchronous tcgen05 operations across threads (PTX ISA, "tcgen05.fence").

namespace bw::ptx {

// tcgen05.fence::before_thread_sync;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Orders this thread's earlier asynchronous tcgen05 operations before the synchronisation that
/// follows (an arrive, a named barrier). tcgen05.commit implies it.
__device__ __forceinline__ void tcgen05_fence_before_thread_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

// tcgen05.fence::after_thread_sync;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Orders this thread's later asynchronous tcgen05 operations after the synchronisation that
/// precedes (a wait).
__device__ __forceinline__ void tcgen05_fence_after_thread_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

}  // namespace bw::ptx
