#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "common/device/fence.cuh"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/floor_device.cuh"
#include "tests/benchmarks/hopper/floor_mma.cuh"
#include "tests/benchmarks/hopper/floor_operands.hpp"

namespace bw {
namespace {

/// One CTA on each multiprocessor. `operands`: random e4m3, kMmaTileBytes of them.
template <int n, bool a_in_registers>
__global__ void __launch_bounds__(kMathThreads, 1)
    mma_loop(const uint4* operands, int blocks, int chained, CtaTime* times, float* sink) {
  extern __shared__ uint8_t raw[];
  uint8_t* tiles = align_tile(raw);
  copy_operands(tiles, operands, kMmaTileBytes<n>, kMathThreads);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const CtaTime time = multiply_blocks<n, a_in_registers>(tiles, blocks, chained, sink);
  record_math_time(time, times);
}

/// A launch's length and how often it is done.
struct Length {
  int blocks;  ///< of 2 × 64 × 256 × 128, 1024 cycles each at full rate
  int warm_ups, launches;
};
// At 1.4 to 2.0 GHz: about 0.1 ms, about a GEMM's 0.6 ms, and at least 0.3 s, in which the power
// limit has settled the clock.
constexpr Length kLengths[] = {{168, 3, 15}, {1024, 3, 9}, {640 * 1024, 1, 1}};
constexpr int kWidestMma = 256;
/// Before each measurement, so that all start from the same temperature and clock.
constexpr std::chrono::milliseconds kPause{200};

template <int n, bool a_in_registers>
TensorRate measure(const Length& length) {
  constexpr int kSharedBytes = kMmaTileBytes<n> + 1024;
  const int blocks = length.blocks * kWidestMma / n / kBlocksPerStep * kBlocksPerStep;
  const auto kernel = mma_loop<n, a_in_registers>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kSharedBytes);
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const DeviceBuffer<Fp8E4m3> operands(random_operands(kMmaTileBytes<n>));
  DeviceBuffer<CtaTime> times(multiprocessors * kMathWarpgroups);
  DeviceBuffer<float> sink(kMathThreads);
  EventTimer timer;
  std::vector<TensorRate> rates;
  std::this_thread::sleep_for(kPause);
  for (int launch = 0; launch < length.warm_ups + length.launches; ++launch) {
    timer.start(nullptr);
    kernel<<<multiprocessors, kMathThreads, kSharedBytes>>>(
        reinterpret_cast<const uint4*>(operands.data()), blocks, /*chained=*/0, times.data(),
        sink.data());
    check_cuda(cudaGetLastError(), "launch a loop of wgmma");
    const double milliseconds = timer.stop(nullptr);
    if (launch < length.warm_ups) continue;
    const auto [cycles, nanoseconds] = longest_times(times.download());
    const double fma_per_sm = 1.0 * kMathWarpgroups * kMmaRows * n * kRowBytes * blocks;
    TensorRate rate;
    rate.form = "m64n" + std::to_string(n) + "k32, A from " +
                (a_in_registers ? "registers" : "shared memory");
    rate.milliseconds = milliseconds;
    rate.tflops = 2 * fma_per_sm * multiprocessors / (milliseconds * 1e-3) * 1e-12;
    rate.fma_per_clock_per_sm = fma_per_sm / cycles;
    rate.clock_ghz = cycles / nanoseconds;
    rates.push_back(rate);
  }
  const size_t middle = rates.size() / 2;
  std::nth_element(
      rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(middle), rates.end(),
      [](const TensorRate& x, const TensorRate& y) { return x.milliseconds < y.milliseconds; });
  return rates[middle];
}

}  // namespace

std::vector<TensorRate> measure_tensor_rates() {
  std::vector<TensorRate> rates;
  for (const Length& length : kLengths) {
    rates.push_back(measure<256, false>(length));
    rates.push_back(measure<192, false>(length));
    rates.push_back(measure<128, false>(length));
    rates.push_back(measure<64, false>(length));
    rates.push_back(measure<256, true>(length));
    rates.push_back(measure<128, true>(length));
  }
  return rates;
}

}  // namespace bw
