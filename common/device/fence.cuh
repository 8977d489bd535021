#pragma once
/// \file
/// Fences between proxies and after barrier initialisation (PTX ISA, "membar/fence").

namespace bw::ptx {

// fence.mbarrier_init.release.cluster;
// PTX ISA 8.0, sm_90
/// Makes earlier mbarrier.init of this thread visible to the cluster. A CTA or cluster barrier
/// must follow before other threads use the barriers.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// fence.proxy.async.shared::cta;
// PTX ISA 8.0, sm_90
/// Orders this thread's generic accesses to shared memory against later accesses of the async
/// proxy (TMA, tcgen05.mma operands). Executed by every thread that touched the memory, before
/// it synchronises with the issuer: after writes that TMA will read, and after reads of a stage
/// that TMA will overwrite.
__device__ __forceinline__ void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace bw::ptx
