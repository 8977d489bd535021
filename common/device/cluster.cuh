#pragma once
/// \file
/// Position in the cluster, addresses of other CTAs, cluster barriers.

#include <cstdint>

namespace bw::ptx {

// mov.u32 d, %cluster_ctarank;
// PTX ISA 7.8, sm_90
/// Rank of the executing CTA in its cluster; 0 without a cluster.
__device__ __forceinline__ uint32_t cluster_cta_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// mov.u32 d, %cluster_nctarank;
// PTX ISA 7.8, sm_90
/// CTAs of the cluster; 1 without one.
__device__ __forceinline__ uint32_t cluster_cta_count() {
  uint32_t count;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}

// mapa.shared::cluster.u32 d, a, b;
// PTX ISA 7.8, sm_90
/// The shared::cluster address of `address` (of this CTA's layout) in the CTA of rank `rank`.
__device__ __forceinline__ uint32_t map_to_cta(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

// st.shared::cluster.v4.f32 [a], b;
// PTX ISA 7.8, sm_90
/// Writes 16 bytes, aligned, to the shared memory of any CTA of the cluster.
__device__ __forceinline__ void store_shared_cluster(uint32_t address, const float4& value) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

// barrier.cluster.arrive{.sem}{.aligned};   sem = .release
// PTX ISA 8.0, sm_90
/// Arrives at the barrier of the cluster, without waiting.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// barrier.cluster.arrive.relaxed.aligned;
// PTX ISA 8.0, sm_90
/// The same without a promise about memory: `cluster_arrive` first waits for all that the thread
/// has written. After `fence_mbarrier_init` it is enough for barriers that the thread has
/// initialised.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// barrier.cluster.wait{.acquire}{.aligned};
// PTX ISA 8.0, sm_90
/// Waits until every thread of the cluster has arrived.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace bw::ptx
