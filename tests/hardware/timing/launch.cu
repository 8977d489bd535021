/// \file
/// Launches: an empty kernel's time, CTAs that follow one another on an SM, and the steps that a
/// kernel's time makes when its CTAs no longer fit in one wave.

#include <string>

#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

/// The first thread of each CTA runs for `cycles` cycles of the SM; the CTA's registers stay taken.
__global__ void spin(int64_t cycles) {
  if (threadIdx.x != 0) return;
  const int64_t begin = cycle();
  while (cycle() - begin < cycles) {
  }
}

}  // namespace

void wake_up() {
  if (is_simulated()) return;
  constexpr int kLaunches = 200;
  constexpr int64_t kCycles = 2'000'000;  // about a millisecond
  for (int i = 0; i < kLaunches; ++i) spin<<<1, 32>>>(kCycles);
  check_cuda(cudaDeviceSynchronize(), "wait until the clock is up");
}

void measure_launch(Results& results) {
  const uint32_t sms = sm_count();
  constexpr int64_t kSpinCycles = 20'000;
  results.add("launch.empty", "", "us",
              graph_microseconds([](cudaStream_t stream) { spin<<<1, 32, 0, stream>>>(0); }));
  results.add("launch.empty_pair", "", "us", graph_microseconds([](cudaStream_t stream) {
                spin<<<1, 32, 0, stream>>>(0);
                spin<<<1, 32, 0, stream>>>(0);
              }));
  // CTAs of 1024 threads: two an SM at once.
  for (const uint32_t ctas : {1u, sms, 2 * sms, 2 * sms + 1, 4 * sms, 4 * sms + 1}) {
    results.add("launch.waves_of_20000_cycles", "ctas=" + std::to_string(ctas), "us",
                graph_microseconds(
                    [&](cudaStream_t stream) { spin<<<ctas, 1024, 0, stream>>>(kSpinCycles); }));
  }
  // One CTA after the other: with all shared memory taken, one is on an SM at a time.
  constexpr uint32_t kAllShared = 200 * 1024;
  constexpr uint32_t kPerSm = 8;
  check_cuda(cudaFuncSetAttribute(reinterpret_cast<const void*>(spin),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, kAllShared),
             "take all shared memory");
  const auto chained = [&](uint32_t per_sm) {
    return graph_microseconds(
        [&](cudaStream_t stream) { spin<<<per_sm * sms, 128, kAllShared, stream>>>(kSpinCycles); });
  };
  results.add("launch.next_cta_of_20000_cycles", "", "us",
              (chained(kPerSm) - chained(1)) / (kPerSm - 1));
}

}  // namespace bw::timing
