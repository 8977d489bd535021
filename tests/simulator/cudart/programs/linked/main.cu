/// \file
/// A program of two object files whose device code is linked (nvcc -rdc=true): functions, variables
/// and constants of the other file, and static variables of the same name in both.
#include <cuda_runtime.h>

#include <cstdio>

extern __device__ int twice(int x);
extern __device__ int offset;
extern __constant__ int table[4];
static __device__ int own = 3;

__global__ void combine(int* out) {
  const auto i = static_cast<int>(threadIdx.x);
  out[i] = twice(i) + offset + table[i % 4] + own;
}

int run_second(int* out);  // launches a kernel of the other file

int main() {
  constexpr int kThreads = 32;
  int* out = nullptr;
  cudaMallocManaged(&out, kThreads * sizeof(int));
  const int more = 1000;
  cudaMemcpyToSymbol(offset, &more, sizeof more);
  combine<<<1, kThreads>>>(out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < kThreads; ++i) {
    const int right = 2 * i + 1000 + (i % 4 + 1) + 3;
    if (out[i] == right) continue;
    std::printf("out[%d] is %d, not %d\n", i, out[i], right);
    return 1;
  }
  if (run_second(out) != 1005) return 1;
  std::printf("linked: ok\n");
  return 0;
}
