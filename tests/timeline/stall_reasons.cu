/// \file
/// Kernels that do nothing but wait, each for one kind of thing: under which reason does a profiler
/// count it? test_profile.py holds the simulator to what Nsight Compute says of them on an H100.
///
///     ncu --metrics regex:smsp__average_warps_issue_stalled_.*_per_issue_active stall_reasons_gpu

#include <cstdint>
#include <cstdio>

#include <cuda_runtime.h>

namespace bw {

constexpr int kRounds = 200;
constexpr int kWarpThreads = 32;
constexpr int kWarpgroupThreads = 128;
constexpr int kTileBytes = 16384;
constexpr uint32_t kSleepNanoseconds = 2000;

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void sleep() { __nanosleep(kSleepNanoseconds); }

/// One warpgroup waits for its MMAs.
__global__ void wgmma_wait(float* sums) {
  __shared__ __align__(1024) uint32_t tile[kTileBytes / sizeof(uint32_t)];
  for (uint32_t i = threadIdx.x; i < kTileBytes / sizeof(uint32_t); i += blockDim.x) tile[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  // Both operands: rows of 128 bytes with the swizzle of 128 bytes, groups of 8 rows 1024 apart.
  constexpr uint64_t kLayout = uint64_t{1} << 62 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 16;
  const uint64_t descriptor = kLayout | shared_address(tile) / 16;
  float d[4] = {};
  for (int round = 0; round < kRounds; ++round) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int i = 0; i < 16; ++i)
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %4, 1, 1, 1;"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "l"(descriptor));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  sums[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

/// Two warps hand a token to each other; who has it sleeps first.
__global__ void mbarrier_wait(float*) {
  __shared__ uint64_t barriers[2];
  if (threadIdx.x == 0)
    for (uint64_t& barrier : barriers)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  for (int round = 0; round < kRounds; ++round) {
    const uint32_t barrier = shared_address(&barriers[round % 2]);
    if (warp != round % 2) {
      uint32_t passed = 0;
      while (passed == 0)
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(passed)
            : "r"(barrier), "r"(round / 2 % 2)
            : "memory");
    } else if (threadIdx.x % kWarpThreads == 0) {
      sleep();
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
    }
    __syncwarp();
  }
}

/// A thread waits for its bulk stores.
__global__ void bulk_wait(float* out) {
  __shared__ __align__(128) uint32_t tile[kTileBytes / sizeof(uint32_t)];
  for (uint32_t i = threadIdx.x; i < kTileBytes / sizeof(uint32_t); i += blockDim.x) tile[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x != 0) return;
  for (int round = 0; round < kRounds; ++round) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out),
                 "r"(shared_address(tile)), "n"(kTileBytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}

/// A warp waits for its cp.async copies.
__global__ void cp_async_wait(float* in) {
  __shared__ __align__(128) float tile[4 * kWarpThreads];
  for (int round = 0; round < kRounds; ++round) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(tile + 4 * threadIdx.x)),
        "l"(in + 4 * threadIdx.x)
        : "memory");
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  }
}

/// Warp 0 sleeps; the others wait for it at the CTA's barrier.
__global__ void named_barrier_wait(float*) {
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x < kWarpThreads) sleep();
    __syncthreads();
  }
}

/// The same at the cluster's barrier.
__global__ __cluster_dims__(2, 1, 1) void cluster_barrier_wait(float*) {
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x < kWarpThreads && blockIdx.x == 0) sleep();
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  }
}

/// A warp sleeps.
__global__ void sleep_wait(float*) {
  for (int round = 0; round < kRounds; ++round) sleep();
}

}  // namespace bw

int main() {
  float* memory = nullptr;
  constexpr size_t kBytes = bw::kTileBytes;
  cudaMalloc(&memory, kBytes);
  cudaMemset(memory, 0, kBytes);
  bw::wgmma_wait<<<1, bw::kWarpgroupThreads>>>(memory);
  cudaMemset(memory, 0, kBytes);
  bw::mbarrier_wait<<<1, 2 * bw::kWarpThreads>>>(memory);
  bw::bulk_wait<<<1, bw::kWarpThreads>>>(memory);
  bw::cp_async_wait<<<1, bw::kWarpThreads>>>(memory);
  bw::named_barrier_wait<<<1, bw::kWarpgroupThreads>>>(memory);
  bw::cluster_barrier_wait<<<2, bw::kWarpgroupThreads>>>(memory);
  bw::sleep_wait<<<1, bw::kWarpThreads>>>(memory);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  cudaFree(memory);
  return error == cudaSuccess ? 0 : 1;
}
