/// \file
/// The second file: it defines what the first one uses.
#include <cuda_runtime.h>

#include <cstdio>

__device__ int offset = 100;
__constant__ int table[4] = {1, 2, 3, 4};
static __device__ int own = 5;

__device__ __noinline__ int twice(int x) {
  if (x == 77) printf("never reached: %d\n", own);
  return 2 * x;
}

__global__ void second(int* out) { *out = offset + own; }

int run_second(int* out) {
  second<<<1, 1>>>(out);
  return cudaDeviceSynchronize() == cudaSuccess ? *out : -1;
}
