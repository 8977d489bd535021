#pragma once
/// \file
/// Code that was never run, and the clock's stamps in between.

#include <cstdint>

#include "common/device/shared_address.cuh"

namespace bw::timing {

constexpr uint32_t kInstructionBytes = 16;
constexpr int kChains = 8;

/// The low word of the SM's clock.
__device__ __forceinline__ uint32_t clock_now() {
  uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}

/// Puts the SM's clock into a word of shared memory: that disturbs the least.
__device__ __forceinline__ void stamp(uint32_t* place) {
  const uint32_t now = clock_now();
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(ptx::shared_address(place)), "r"(now) : "memory");
}

/// Threads of a CTA: `count` stamps become row blockIdx.x of `out`.
__device__ __forceinline__ void write_stamps(uint32_t* out, const uint32_t* stamps,
                                             uint32_t count) {
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
    out[blockIdx.x * count + i] = stamps[i];
}

#define BW_ROUND                 \
  "fma.rn.f32 %0, %0, %8, %9;\n" \
  "fma.rn.f32 %1, %1, %8, %9;\n" \
  "fma.rn.f32 %2, %2, %8, %9;\n" \
  "fma.rn.f32 %3, %3, %8, %9;\n" \
  "fma.rn.f32 %4, %4, %8, %9;\n" \
  "fma.rn.f32 %5, %5, %8, %9;\n" \
  "fma.rn.f32 %6, %6, %8, %9;\n" \
  "fma.rn.f32 %7, %7, %8, %9;\n"
#define BW_EIGHT(lines) lines lines lines lines lines lines lines lines
#define BW_CHAINS(sums)                                                                     \
  "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]), \
      "+f"(sums[6]), "+f"(sums[7])

/// So many instructions without a branch; others where `a` or `b` is another register or number.
/// The compiler gets them in blocks, of which it takes the time of a single one.
template <uint32_t instructions>
__device__ __forceinline__ void straight(float (&sums)[kChains], float a, float b) {
  constexpr uint32_t kBlock = 8 * kChains, kLargeBlock = 8 * kBlock;
  const auto one = [&](uint32_t i) {
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(sums[i % kChains]) : "f"(a), "f"(b));
  };
  // The first of each chain alone, so that its sum begins where it is needed.
  constexpr uint32_t kFirst = instructions < kChains ? instructions : kChains;
#pragma unroll
  for (uint32_t i = 0; i < kFirst; ++i) one(i);
  constexpr uint32_t kLarge = kFirst + (instructions - kFirst) / kLargeBlock * kLargeBlock;
#pragma unroll
  for (uint32_t i = kFirst; i < kLarge; i += kLargeBlock)
    asm volatile(BW_EIGHT(BW_EIGHT(BW_ROUND)) : BW_CHAINS(sums) : "f"(a), "f"(b));
  constexpr uint32_t kSmall = kLarge + (instructions - kLarge) / kBlock * kBlock;
#pragma unroll
  for (uint32_t i = kLarge; i < kSmall; i += kBlock)
    asm volatile(BW_EIGHT(BW_ROUND) : BW_CHAINS(sums) : "f"(a), "f"(b));
#pragma unroll
  for (uint32_t i = kSmall; i < instructions; ++i) one(i);
}
#undef BW_CHAINS
#undef BW_EIGHT
#undef BW_ROUND

/// What `straight` begins with.
__device__ __forceinline__ void begin_sums(float (&sums)[kChains], float a) {
#pragma unroll
  for (int i = 0; i < kChains; ++i) sums[i] = a * static_cast<float>(i);
}
/// Keeps the compiler from removing the sums; `sink` is null, which it does not know.
__device__ __forceinline__ void keep_sums(const float (&sums)[kChains], float* sink) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += sums[i];
  if (sink != nullptr) *sink = sum;
}

/// Code that drives other code out of the caches.
template <uint32_t kib>
__global__ void other_code(float a, float* sink) {
  float sums[kChains];
  begin_sums(sums, a);
  straight<kib * 1024 / kInstructionBytes>(sums, a, 0.5f);
  keep_sums(sums, sink);
}

}  // namespace bw::timing
