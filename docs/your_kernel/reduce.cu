/// \file
/// The sum of a vector: each block sums its part in shared memory, thread 0 adds it to the result.
/// Built and run as docs/your_kernel.md says.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kThreads = 256;

__global__ void sum(const float* values, int count, float* result) {
  __shared__ float parts[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  float own = 0;
  for (int i = static_cast<int>(blockIdx.x) * kThreads + thread; i < count;
       i += static_cast<int>(gridDim.x) * kThreads) {
    own += values[i];
  }
  parts[thread] = own;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) parts[thread] += parts[thread + half];
    __syncthreads();
  }
  if (thread == 0) atomicAdd(result, parts[0]);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const int count = argument_count > 1 ? std::atoi(arguments[1]) : 10000;
  if (count <= 0) {
    std::fprintf(stderr, "usage: %s [elements, at least 1]\n", arguments[0]);
    return 2;
  }
  // 0, 1, ..., 7, 0, 1, ...: every partial sum is exact in float.
  std::vector<float> values(static_cast<size_t>(count));
  double right = 0;
  for (int i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] = static_cast<float>(i % 8);
    right += i % 8;
  }
  float* on_device = nullptr;
  float* result = nullptr;
  const size_t bytes = values.size() * sizeof(float);
  cudaMalloc(&on_device, bytes);
  cudaMallocManaged(&result, sizeof(float));
  cudaMemcpy(on_device, values.data(), bytes, cudaMemcpyHostToDevice);
  *result = 0;
  sum<<<4, kThreads>>>(on_device, count, result);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return 1;
  }
  std::printf("sum of %d elements: %.0f, %s\n", count, static_cast<double>(*result),
              static_cast<double>(*result) == right ? "verified" : "wrong");
  return static_cast<double>(*result) == right ? 0 : 1;
}
