/// \file
/// CTAs that share an SM and do the same in rounds: wait for the L2 cache, meet, compute, meet.
/// What a second CTA adds says how they take turns.

#include <cstdint>
#include <string>

#include "common/device/shared_address.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

enum class Computes { fma, shared_loads, both };
constexpr const char* kNames[] = {"fma", "shared loads", "fma and shared loads"};

constexpr uint32_t kThreads = 256;
constexpr uint32_t kRounds = 64;
constexpr int kFmas = 128;                           // of a thread and round
constexpr int kChains = 16;                          // of them
constexpr int kSharedLoads = 16;                     // of a thread and round, 16 bytes a lane
constexpr uint32_t kShared = kSharedLoads * 32 * 4;  // floats: all warps load the same
constexpr uint32_t kAllShared = 224 * 1024;
constexpr uint32_t kOwnShared = 1024;  // what the system keeps of each CTA

template <Computes computes>
__global__ void __launch_bounds__(kThreads) rounds(const uint32_t* zeros, float* sink) {
  __shared__ alignas(128) float memory[kShared];
  for (uint32_t i = threadIdx.x; i < kShared; i += kThreads) memory[i] = 1;
  const uint32_t base = ptx::shared_address(memory) + threadIdx.x % 32 * sizeof(float4);
  float sums[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) sums[i] = static_cast<float>(i);
  uint32_t zero = 0;
#pragma unroll 1
  for (uint32_t round = 0; round < kRounds; ++round) {
    uint32_t loaded;
    asm volatile("ld.global.cg.u32 %0, [%1];"
                 : "=r"(loaded)
                 : "l"(zeros + (threadIdx.x + round * kThreads + zero) % (64 * kThreads))
                 : "memory");
    zero |= loaded;
    const float x = __uint_as_float(0x3f800000 | zero);
    __syncthreads();
    constexpr bool kHasFmas = computes == Computes::fma || computes == Computes::both;
    constexpr bool kHasLoads = computes == Computes::shared_loads || computes == Computes::both;
#pragma unroll
    for (int i = 0; i < kSharedLoads; ++i) {
      float4 value = {x, x, x, x};
      if constexpr (kHasLoads) {
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                     : "r"(base + i * 32 * static_cast<uint32_t>(sizeof(float4)) + zero)
                     : "memory");
        if constexpr (!kHasFmas) sums[i % kChains] += value.x + value.y + value.z + value.w;
      }
      if constexpr (kHasFmas) {
#pragma unroll
        for (int j = 0; j < kFmas / kSharedLoads; ++j) {
          float& sum = sums[(i * (kFmas / kSharedLoads) + j) % kChains];
          sum = sum * (j % 2 == 0 ? value.x : value.y) + (j % 2 == 0 ? value.z : value.w);
        }
      }
    }
    __syncthreads();
  }
  float sum = 0;
#pragma unroll
  for (const float one : sums) sum += one;
  if (sum == -1) *sink = sum;
}

template <Computes computes>
void add(Results& results, uint32_t sms, const uint32_t* zeros) {
  for (const uint32_t residents : {1u, 2u, 3u, 4u}) {
    const uint32_t shared = kAllShared / residents - kOwnShared - kShared * sizeof(float);
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(rounds<computes>), shared);
    results.add("residents.rounds",
                std::string(kNames[static_cast<int>(computes)]) +
                    " ctas_of_an_sm=" + std::to_string(residents),
                "us", graph_microseconds([&](cudaStream_t s) {
                  rounds<computes><<<residents * sms, kThreads, shared, s>>>(zeros, nullptr);
                }));
  }
}

}  // namespace

void measure_residents(Results& results) {
  const uint32_t sms = sm_count();
  DeviceBuffer<uint32_t> zeros(64 * kThreads);
  zeros.fill_bytes(0);
  add<Computes::fma>(results, sms, zeros.data());
  add<Computes::shared_loads>(results, sms, zeros.data());
  add<Computes::both>(results, sms, zeros.data());
}

}  // namespace bw::timing
