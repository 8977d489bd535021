/// \file
/// Heat that spreads along a rod: each point becomes the mean of its neighbours, step by step. The
/// steps are captured once and launched as a CUDA graph.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr int kPoints = 500;
constexpr int kSteps = 20;

__global__ void step(const float* from, float* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= kPoints) return;
  const bool is_end = i == 0 || i == kPoints - 1;
  to[i] = is_end ? from[i] : 0.25F * from[i - 1] + 0.5F * from[i] + 0.25F * from[i + 1];
}

}  // namespace

int main() {
  std::vector<float> rod(kPoints, 0.0F);
  rod[kPoints / 2] = 1000.0F;
  std::vector<double> right(rod.begin(), rod.end());
  constexpr size_t kBytes = kPoints * sizeof(float);
  float* now = nullptr;
  float* next = nullptr;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocAsync(&now, kBytes, stream);
  cudaMallocAsync(&next, kBytes, stream);

  cudaGraph_t graph;
  cudaGraphExec_t steps;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(now, rod.data(), kBytes, cudaMemcpyHostToDevice, stream);
  for (int i = 0; i < kSteps; ++i) {
    step<<<(kPoints + 127) / 128, 128, 0, stream>>>(now, next);
    std::swap(now, next);
  }
  cudaMemcpyAsync(rod.data(), now, kBytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&steps, graph);
  cudaGraphLaunch(steps, stream);
  if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return 1;
  }

  for (int i = 0; i < kSteps; ++i) {
    std::vector<double> before = right;
    for (size_t p = 1; p + 1 < right.size(); ++p)
      right[p] = 0.25 * before[p - 1] + 0.5 * before[p] + 0.25 * before[p + 1];
  }
  double worst = 0;
  for (size_t p = 0; p < right.size(); ++p)
    worst = std::fmax(worst, std::fabs(static_cast<double>(rod[p]) - right[p]));
  std::printf("worst error %.2g, %s\n", worst, worst < 1e-3 ? "verified" : "wrong");
  return worst < 1e-3 ? 0 : 1;
}
