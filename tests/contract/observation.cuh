#pragma once
/// \file
/// How the contract's tests look at a running kernel.
///
/// A scenario is a struct with the type `Seen` and the function `run(barriers, seen)`: all threads
/// of every CTA run it, and what it stores in its CTA's `Seen` is what the test compares.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"

namespace bw::test {

/// Barriers that a scenario gets, uninitialised.
constexpr int kMostBarriers = 32;

/// State of `barrier`. Destructive: looking completes the phase.
struct BarrierState {
  uint32_t phase;    ///< parity of the current phase
  uint32_t pending;  ///< arrivals that it lacked before the look
};

/// The parity of the current phase.
__device__ __forceinline__ uint32_t current_phase(const SharedMemBarrier& barrier) {
  return barrier.try_wait(0) ? 1 : 0;
}

/// One thread, when no other uses the barrier and no bytes are expected: arrives until the phase
/// completes.
__device__ __forceinline__ BarrierState complete_and_count(SharedMemBarrier& barrier) {
  BarrierState state{current_phase(barrier), 0};
  while (!barrier.try_wait(state.phase)) {
    barrier.arrive();
    ++state.pending;
  }
  return state;
}

__device__ __forceinline__ uint32_t warp_index() { return threadIdx.x / ptx::kWarpThreads; }
__device__ __forceinline__ uint32_t lane_index() { return threadIdx.x % ptx::kWarpThreads; }

/// A CTA of the contract's contexts: warps 0 to 3 are the epilogue, warp 4 multiplies. A second
/// group of epilogue warps are warps 8 to 11, as in chapter 5's kernel; 5 to 7 have other roles.
constexpr uint32_t kMmaWarp = 4;
template <int epilogue_threads>
constexpr unsigned kContextThreads = epilogue_threads == 256 ? 12 * 32 : 5 * 32;
constexpr uint32_t kSecondGroupsFirstWarp = 8;
__device__ __forceinline__ bool is_epilogue_warp() {
  return warp_index() < kMmaWarp || warp_index() >= kSecondGroupsFirstWarp;
}
/// The calling thread's number among the epilogue's.
__device__ __forceinline__ uint32_t epilogue_thread() {
  return warp_index() < kMmaWarp ? threadIdx.x : threadIdx.x - 128;
}

/// A side that comes late on purpose: the others have reached what they wait for long before.
__device__ __forceinline__ void come_late() { __nanosleep(5000); }

/// The end of a CTA's initialisation: barriers are visible to all CTAs of the cluster.
__device__ __forceinline__ void meet() {
  ptx::fence_mbarrier_init();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

/// Threads that a CTA of a scenario has at most: ptxas gives each no more registers than fit.
inline constexpr unsigned kMostThreads = 384;

template <class Scenario>
__global__ __launch_bounds__(kMostThreads) void observe_kernel(typename Scenario::Seen* seen) {
  __shared__ SharedMemBarrier barriers[kMostBarriers];
  Scenario::run(barriers, seen[blockIdx.x]);
}

/// Runs a scenario in one cluster of `ctas` CTAs of `threads` threads; returns what each CTA saw.
template <class Scenario>
std::vector<typename Scenario::Seen> observe_cluster(unsigned ctas, unsigned threads) {
  using Seen = typename Scenario::Seen;
  static_assert(std::is_trivially_copyable_v<Seen>, "kernels write it, hosts copy it");
  DeviceBuffer<Seen> seen(ctas);
  seen.fill_bytes(0xff);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = ctas;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.attrs = &cluster;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, observe_kernel<Scenario>, seen.data()),
             "start a scenario");
  check_cuda(cudaDeviceSynchronize(), "finish a scenario");
  return seen.download();
}

/// Runs a scenario in one CTA.
template <class Scenario>
typename Scenario::Seen observe(unsigned threads) {
  return observe_cluster<Scenario>(1, threads).front();
}

}  // namespace bw::test
