/// \file
/// The SM's clock while the SMs are busy: cycles of a kernel and its wall time.

#include <algorithm>
#include <string>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/clock_profile.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/mma_block.cuh"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr int kMmaN = 128;
constexpr uint32_t kThreads = 256;
constexpr uint32_t kOperandBytes = (2 * kMmaRows + kMmaN) * kMmaRowBytes;
constexpr uint32_t kAllShared = 200 * 1024;  // one CTA an SM

enum class Work { wait, fma, mma };

/// What the CTAs below `busy` do; the others wait as long.
struct Load {
  uint32_t busy;    ///< CTAs
  uint32_t blocks;  ///< of work
  uint32_t pause;   ///< cycles after each block
  uint32_t data;    ///< random bits in the operands
  /// Whether each CTA begins at another time, and its pauses average `pause` only over each pair of
  /// them: no two SMs stay in step, but all take equally long. `blocks` is even.
  bool apart = false;
};

/// A pseudo-random word.
__device__ uint32_t hash(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

__device__ void wait_cycles(int64_t cycles) {
  const int64_t begin = cycle();
  while (cycle() - begin < cycles) {
  }
}

/// Two warpgroups. Each CTA's span is its first thread's.
template <Work work>
__global__ void __launch_bounds__(kThreads)
    use_sms(Span* spans, Load load, float one, float* sink) {
  extern __shared__ uint8_t raw[];
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  for (uint32_t i = threadIdx.x; i < (kOperandBytes + kTileAlignment) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[i] = hash(i) & load.data;
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const auto pause_of = [&](uint32_t block) {
    if (!load.apart) return load.pause;
    const uint32_t more = hash(hash(blockIdx.x) + block / 2) % (load.pause + 1);
    return load.pause / 2 + (block % 2 == 0 ? more : load.pause - more);
  };
  if (load.apart) wait_cycles(hash(blockIdx.x) % (load.pause + 1));
  const int64_t begin = cycle();
  float d[kMmaN / 2];
#pragma unroll
  for (int i = 0; i < kMmaN / 2; ++i) d[i] = static_cast<float>(i) * one;
  if (blockIdx.x >= load.busy) {
    constexpr int64_t kCyclesOfBlock = 512;
    wait_cycles(load.blocks * (kCyclesOfBlock + load.pause));
  } else {
    const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
    const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(
        base + kMmaN * kMmaRowBytes + threadIdx.x / 128 * kMmaRows * kMmaRowBytes));
#pragma unroll 1
    for (uint32_t i = 0; i < load.blocks; ++i) {
      if constexpr (work == Work::mma) {
        ptx::wgmma_hold(d);
        multiply_and_wait<kMmasPerBlock>(d, a, b, /*chained=*/false);
      } else if constexpr (work == Work::fma) {
        constexpr int kRounds = 4;
#pragma unroll
        for (int round = 0; round < kRounds; ++round) {
#pragma unroll
          for (int j = 0; j < kMmaN / 2; ++j) d[j] = fmaf(d[j], one, d[(j + 1) % (kMmaN / 2)]);
        }
      } else {
        wait_cycles(512);
      }
      if (load.pause != 0) wait_cycles(pause_of(i));
    }
  }
  __syncthreads();
  const int64_t end = cycle();
  if (threadIdx.x == 0) spans[blockIdx.x] = {begin, end};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMmaN / 2; ++i) sum += d[i];
  if (sink != nullptr) *sink = sum;
}

/// Cycles a nanosecond of what more blocks take.
template <Work work>
double gigahertz(Load load, uint32_t few, uint32_t many) {
  const uint32_t sms = sm_count();
  const auto kernel = use_sms<work>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kAllShared);
  DeviceBuffer<Span> spans(sms);
  const auto measure = [&](uint32_t blocks, double& cycles) {
    load.blocks = blocks;
    const double microseconds = graph_microseconds([&](cudaStream_t stream) {
      kernel<<<sms, kThreads, kAllShared, stream>>>(spans.data(), load, 1.0f, nullptr);
    });
    cycles = 0;
    const std::vector<Span> all = spans.download();
    for (uint32_t cta = 0; cta < load.busy; ++cta)
      cycles += static_cast<double>(all[cta].end - all[cta].begin) / load.busy;
    return microseconds;
  };
  double few_cycles = 0, many_cycles = 0;
  const double few_us = measure(few, few_cycles);
  const double many_us = measure(many, many_cycles);
  return (many_cycles - few_cycles) / (many_us - few_us) / 1e3;
}

}  // namespace

void measure_clock(Results& results) {
  const uint32_t sms = sm_count();
  constexpr uint32_t kRandom = 0xf7f7f7f7;  // e4m3 without NaN
  constexpr uint32_t kFew = 8, kMany = 24, kVeryMany = 200;
  const auto add = [&](const std::string& name, const std::string& parameter, double value) {
    results.add("clock." + name, parameter, "GHz", value);
  };
  const auto of_sms = [](uint32_t count) { return "sms=" + std::to_string(count); };
  add("waiting", of_sms(sms), gigahertz<Work::wait>({sms, 0, 0, 0}, kFew, kMany));
  add("fma", of_sms(sms), gigahertz<Work::fma>({sms, 0, 0, 0}, kFew, kMany));
  add("mma_of_zeros", of_sms(sms), gigahertz<Work::mma>({sms, 0, 0, 0}, kFew, kMany));
  for (const uint32_t busy : {sms / 16, sms / 4, sms / 2, sms}) {
    add("mma", of_sms(busy), gigahertz<Work::mma>({busy, 0, 0, kRandom}, kFew, kMany));
  }
  for (const uint32_t pause : {512u, 1024u, 2048u}) {
    add("mma", of_sms(sms) + " pause=" + std::to_string(pause),
        gigahertz<Work::mma>({sms, 0, pause, kRandom}, kFew, kMany));
  }
  for (const uint32_t pause : {256u, 512u, 1024u, 2048u, 4096u, 8192u}) {
    add("mma_apart", of_sms(sms) + " pause=" + std::to_string(pause),
        gigahertz<Work::mma>({sms, 0, pause, kRandom, true}, kFew, kMany));
  }
  measure_clock_profile(results);
  if (is_simulated()) return;
  add("mma_for_long", of_sms(sms), gigahertz<Work::mma>({sms, 0, 0, kRandom}, kMany, kVeryMany));
  add("mma_for_long", of_sms(sms / 4),
      gigahertz<Work::mma>({sms / 4, 0, 0, kRandom}, kMany, kVeryMany));
  add("mma_at_first", of_sms(sms), gigahertz<Work::mma>({sms, 0, 0, kRandom}, 1, 4));
  add("mma_at_first", of_sms(sms) + " more", gigahertz<Work::mma>({sms, 0, 0, kRandom}, 4, kFew));
  add("fma_for_long", of_sms(sms), gigahertz<Work::fma>({sms, 0, 0, 0}, kMany, kVeryMany));
}

}  // namespace bw::timing
