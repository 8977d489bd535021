#include "tests/benchmarks/grid_barriers.hpp"

#include "common/host/cuda_check.hpp"

namespace bw::bench {
namespace {

__device__ __forceinline__ void meet(GridBarrier kind, uint32_t* counter, uint32_t arrivals) {
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kind == GridBarrier::fences) {
      __threadfence();
      atomicAdd(counter, 1);
      while (*static_cast<volatile uint32_t*>(counter) < arrivals) {
      }
      __threadfence();
    } else {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
      uint32_t found = 0;
      do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(found) : "l"(counter) : "memory");
      while (found < arrivals);
    }
  }
  __syncthreads();
}

template <GridBarrier kind>
__global__ void exchange(uint32_t* counter, uint32_t* data, int rounds) {
  const uint32_t count = gridDim.x * blockDim.x;
  const uint32_t own = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t value = own;
  for (int round = 0; round < rounds; ++round) {
    uint32_t* const now = data + static_cast<uint32_t>(round % 2) * count;
    now[own] = value;
    meet(kind, counter, static_cast<uint32_t>(round + 1) * gridDim.x);
    value += __ldcg(&now[(own + blockDim.x) % count]);
  }
}

}  // namespace

void meet_in_grid(GridBarrier kind, int rounds, uint32_t ctas, uint32_t threads, uint32_t* counter,
                  uint32_t* data) {
  check_cuda(cudaMemset(counter, 0, sizeof(*counter)), "clear the counter");
  void* arguments[] = {&counter, &data, &rounds};
  const void* const kernel = kind == GridBarrier::fences
                                 ? reinterpret_cast<const void*>(exchange<GridBarrier::fences>)
                                 : reinterpret_cast<const void*>(exchange<GridBarrier::acquire>);
  check_cuda(cudaLaunchCooperativeKernel(kernel, dim3(ctas), dim3(threads), arguments, 0, nullptr),
             "launch the kernel");
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
}

}  // namespace bw::bench
