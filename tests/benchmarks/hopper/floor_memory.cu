#include <algorithm>
#include <functional>
#include <vector>

#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/event_timer.hpp"
#include "tests/benchmarks/hopper/floor.hpp"

namespace bw {
namespace {

constexpr int kThreads = 512;
constexpr int kPerThread = 4;  // 16-byte words in flight
constexpr size_t kBytes = size_t{1} << 30;

__global__ void __launch_bounds__(kThreads)
    copy_words(const uint4* source, uint4* destination, size_t count) {
  const size_t stride = size_t{gridDim.x} * kThreads;
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += kPerThread * stride) {
    uint4 words[kPerThread];
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) words[j] = __ldcs(source + i + j * stride);
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) __stcs(destination + i + j * stride, words[j]);
  }
}

__global__ void __launch_bounds__(kThreads)
    sum_words(const uint4* source, uint32_t* sink, size_t count) {
  const size_t stride = size_t{gridDim.x} * kThreads;
  uint32_t sum = 0;
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += kPerThread * stride) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const uint4 word = __ldcs(source + i + j * stride);
      sum += word.x ^ word.y ^ word.z ^ word.w;
    }
  }
  if (sum == 0x12345678u) *sink = sum;
}

/// The shortest time of several launches, in seconds.
double shortest(const std::function<void()>& launch) {
  constexpr int kWarmUps = 2, kLaunches = 8;
  EventTimer timer;
  float milliseconds = 1e30f;
  for (int i = 0; i < kWarmUps + kLaunches; ++i) {
    timer.start(nullptr);
    launch();
    check_cuda(cudaGetLastError(), "launch a copy");
    const float time = timer.stop(nullptr);
    if (i >= kWarmUps) milliseconds = std::min(milliseconds, time);
  }
  return milliseconds * 1e-3;
}

}  // namespace

MemoryRate measure_memory_rate() {
  constexpr size_t kWords = kBytes / sizeof(uint4);
  DeviceBuffer<uint4> source(kWords), destination(kWords);
  DeviceBuffer<uint32_t> sink(1);
  source.fill_bytes(0x5a);
  // The grid divides the words evenly, so that no bounds need checking.
  constexpr int kGrid = 2048;
  static_assert(kWords % (size_t{kGrid} * kThreads * kPerThread) == 0, "no rest is copied");
  const double own =
      shortest([&] { copy_words<<<kGrid, kThreads>>>(source.data(), destination.data(), kWords); });
  const double runtime = shortest([&] {
    check_cuda(cudaMemcpyAsync(destination.data(), source.data(), kBytes, cudaMemcpyDeviceToDevice,
                               nullptr),
               "copy");
  });
  const double read =
      shortest([&] { sum_words<<<kGrid, kThreads>>>(source.data(), sink.data(), kWords); });
  return MemoryRate{2.0 * kBytes / std::min(own, runtime), kBytes / read};
}

}  // namespace bw
