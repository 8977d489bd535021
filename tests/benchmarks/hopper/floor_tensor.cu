#include <algorithm>
#include <string>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/random_normal.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/floor_device.cuh"

namespace bw {
namespace {

constexpr int kMmaRows = 64, kMmaDepth = 32, kMmasPerBlock = kRowBytes / kMmaDepth;
constexpr int kWarpgroups = 2, kThreads = kWarpgroups * 128;
constexpr int kBlocksPerStep = 4;  // K blocks between two looks at the loop's counter

template <int n>
constexpr int kTileBytes = (kWarpgroups * kMmaRows + n) * kRowBytes;

/// `blocks` K blocks of 64 × n in each of two warpgroups, each block's accumulation beginning anew,
/// as the GEMM's does. `operands`: random e4m3, kTileBytes of them.
template <int n, bool a_in_registers>
__global__ void __launch_bounds__(kThreads, 1)
    mma_loop(const uint4* operands, int blocks, CtaTime* times, float* sink) {
  extern __shared__ uint8_t raw[];
  uint8_t* tiles = align_tile(raw);
  for (int i = threadIdx.x; i < kTileBytes<n> / 16; i += kThreads) {
    reinterpret_cast<uint4*>(tiles)[i] = operands[i];
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();

  const uint32_t warpgroup = threadIdx.x / 128;
  const uint32_t base = ptx::shared_address(tiles);
  const uint64_t b = tile_descriptor(base);
  const uint64_t a = tile_descriptor(base + n * kRowBytes + warpgroup * kMmaRows * kRowBytes);
  uint32_t fragment[kMmasPerBlock][4];
  if constexpr (a_in_registers) {
    const auto* words = reinterpret_cast<const uint32_t*>(tiles) + threadIdx.x;
    for (int i = 0; i < kMmasPerBlock; ++i) {
      for (int j = 0; j < 4; ++j) fragment[i][j] = words[(i * 4 + j) * kThreads];
    }
  }
  float accumulator[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) accumulator[i] = 0;

  const uint64_t begin_nanoseconds = global_nanoseconds();
  const int64_t begin = clock64();
  for (int step = 0; step < blocks / kBlocksPerStep; ++step) {
    ptx::wgmma_fence();
#pragma unroll
    for (int block = 0; block < kBlocksPerStep; ++block) {
#pragma unroll
      for (int i = 0; i < kMmasPerBlock; ++i) {
        constexpr int kDescriptorStep = kMmaDepth / 16;
        if constexpr (a_in_registers) {
          ptx::wgmma_e4m3(accumulator, fragment[i], b + i * kDescriptorStep, i != 0);
        } else {
          ptx::wgmma_e4m3(accumulator, a + i * kDescriptorStep, b + i * kDescriptorStep, i != 0);
        }
      }
    }
    // While one warpgroup comes around, the other one's group keeps the tensor cores busy.
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(accumulator);
  }
  const int64_t end = clock64();
  __syncthreads();
  if (threadIdx.x == 0) {
    times[blockIdx.x] = {static_cast<uint64_t>(end - begin),
                         global_nanoseconds() - begin_nanoseconds};
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) sum += accumulator[i];
  if (sum == 0.123456f) sink[threadIdx.x] = sum;  // never; keeps the accumulator alive
}

/// Normal numbers as block quantisation leaves them: the largest of 128 is near e4m3's largest.
std::vector<Fp8E4m3> random_operands(size_t count) {
  constexpr float kSpread = 160;
  const RandomNormal normal(/*seed=*/1, /*stream=*/0);
  std::vector<Fp8E4m3> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = to_fp8_e4m3(kSpread * normal(i));
  return values;
}

template <int n, bool a_in_registers>
TensorRate measure(int blocks) {
  constexpr int kSharedBytes = kTileBytes<n> + 1024;
  constexpr int kWarmUps = 3, kLaunches = 9;
  const auto kernel = mma_loop<n, a_in_registers>;
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
      "give the loop its shared memory");
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const DeviceBuffer<Fp8E4m3> operands(random_operands(kTileBytes<n>));
  DeviceBuffer<CtaTime> times(multiprocessors);
  DeviceBuffer<float> sink(kThreads);
  EventTimer timer;
  std::vector<TensorRate> rates;
  for (int launch = 0; launch < kWarmUps + kLaunches; ++launch) {
    timer.start(nullptr);
    kernel<<<multiprocessors, kThreads, kSharedBytes>>>(
        reinterpret_cast<const uint4*>(operands.data()), blocks, times.data(), sink.data());
    check_cuda(cudaGetLastError(), "launch a loop of wgmma");
    const double milliseconds = timer.stop(nullptr);
    if (launch < kWarmUps) continue;
    double cycles = 0, nanoseconds = 0;
    for (const CtaTime& time : times.download()) {
      cycles = std::max(cycles, static_cast<double>(time.cycles));
      nanoseconds = std::max(nanoseconds, static_cast<double>(time.nanoseconds));
    }
    const double fma_per_sm = 1.0 * kWarpgroups * kMmaRows * n * kRowBytes * blocks;
    TensorRate rate;
    rate.form = "m64n" + std::to_string(n) + "k32, A from " +
                (a_in_registers ? "registers" : "shared memory");
    rate.milliseconds = milliseconds;
    rate.tflops = 2 * fma_per_sm * multiprocessors / (milliseconds * 1e-3) * 1e-12;
    rate.fma_per_clock_per_sm = fma_per_sm / cycles;
    rate.clock_ghz = cycles / nanoseconds;
    rates.push_back(rate);
  }
  std::nth_element(
      rates.begin(), rates.begin() + kLaunches / 2, rates.end(),
      [](const TensorRate& x, const TensorRate& y) { return x.milliseconds < y.milliseconds; });
  return rates[kLaunches / 2];
}

}  // namespace

std::vector<TensorRate> measure_tensor_rates() {
  // A block of 2 × 64 × 256 × 128 takes 1024 cycles at full rate.
  constexpr int kShort = 1024, kLong = 128 * 1024;
  std::vector<TensorRate> rates;
  for (const int blocks : {kShort, kLong}) {
    rates.push_back(measure<256, false>(blocks));
    rates.push_back(measure<192, false>(blocks));
    rates.push_back(measure<128, false>(2 * blocks));
    rates.push_back(measure<64, false>(4 * blocks));
    rates.push_back(measure<256, true>(blocks));
    rates.push_back(measure<128, true>(2 * blocks));
  }
  return rates;
}

}  // namespace bw
