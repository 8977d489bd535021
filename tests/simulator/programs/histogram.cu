/// \file
/// A histogram whose lanes of one bin add once: match.any finds them, their leader adds for all, in
/// shared memory; a CTA's counts then go to global memory.
#include "tests/simulator/programs/program_check.hpp"

namespace bw::programs {

constexpr unsigned kBins = 96, kThreads = 128, kCtas = 6;

__global__ void __launch_bounds__(kThreads)
    histogram(const uint8_t* values, unsigned count, unsigned* bins, unsigned* largest) {
  __shared__ unsigned own[kBins];
  for (unsigned bin = threadIdx.x; bin < kBins; bin += kThreads) own[bin] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kCtas * kThreads) {
    const unsigned bin = values[i] % kBins;
    // The last round is not taken by all lanes.
    const unsigned same = __match_any_sync(__activemask(), bin);
    const unsigned leader = __ffs(static_cast<int>(same)) - 1;
    if (threadIdx.x % 32 == leader) atomicAdd(&own[bin], __popc(same));
  }
  __syncthreads();
  unsigned most = 0;
  for (unsigned bin = threadIdx.x; bin < kBins; bin += kThreads) {
    if (own[bin] != 0) atomicAdd(&bins[bin], own[bin]);
    most = max(most, own[bin]);
  }
  most = __reduce_max_sync(~0u, most);
  if (threadIdx.x % 32 == 0) atomicMax(largest, most);
}

int run() {
  constexpr unsigned kCount = 10007;
  std::mt19937 random(5);
  std::vector<uint8_t> values(kCount);
  // Half of the values are one and the same.
  for (uint8_t& value : values) value = random() % 2 == 0 ? 17 : static_cast<uint8_t>(random());
  DeviceBuffer<uint8_t> device_values(values);
  DeviceBuffer<unsigned> bins{std::vector<unsigned>(kBins)}, largest{std::vector<unsigned>(1)};
  histogram<<<kCtas, kThreads>>>(device_values.data(), kCount, bins.data(), largest.data());
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
  std::vector<unsigned> expected(kBins), of_cta(kCtas * kBins);
  unsigned most = 0;
  for (unsigned i = 0; i < kCount; ++i) {
    const unsigned bin = values[i] % kBins;
    ++expected[bin];
    most = std::max(most, ++of_cta[i / kThreads % kCtas * kBins + bin]);
  }
  const bool right = bins.download() == expected && largest.download().front() == most;
  std::puts(right ? "histogram: ok" : "histogram: wrong counts");
  return right ? 0 : 1;
}

}  // namespace bw::programs

int main() { return bw::programs::run(); }
