#pragma once
/// \file
/// The bare wgmma loop of the measurements: two warpgroups multiply operands that are already in
/// shared memory, and nothing else.

#include <cstdint>

#include "common/device/shared_address.cuh"
#include "tests/benchmarks/hopper/floor_device.cuh"

namespace bw {

constexpr int kMmaRows = 64, kMmaDepth = 32, kMmasPerBlock = kRowBytes / kMmaDepth;
constexpr int kMathWarpgroups = 2, kMathThreads = kMathWarpgroups * 128;
constexpr int kBlocksPerStep = 4;  ///< K blocks between two looks at the loop's counter

/// Operands of the loop in shared memory: n rows of B, then 64 rows of A for each warpgroup.
template <int n>
constexpr int kMmaTileBytes = (kMathWarpgroups * kMmaRows + n) * kRowBytes;

/// Copies the operands into shared memory; all `threads` of the CTA, then a fence and a barrier.
__device__ inline void copy_operands(uint8_t* tiles, const uint4* operands, int bytes,
                                     int threads) {
  for (int i = threadIdx.x; i < bytes / 16; i += threads) {
    reinterpret_cast<uint4*>(tiles)[i] = operands[i];
  }
}

/// Threads 0 to 255, with their own time: each warpgroup's into the CTA's two elements of `times`.
__device__ inline void record_math_time(const CtaTime& time, CtaTime* times) {
  if (threadIdx.x % 128 == 0) times[blockIdx.x * kMathWarpgroups + threadIdx.x / 128] = time;
}

/// `blocks` K blocks of 64 × n in each of two warpgroups (threads 0 to 255 of the CTA); its time.
///
/// `chained` is 0 at run time, so each block begins a new sum, as the GEMM's does. The compiler
/// must not know that: it drops MMAs whose sums are overwritten unread. `sink` is never written;
/// the compiler must not know that either.
template <int n, bool a_in_registers>
__device__ __forceinline__ CtaTime multiply_blocks(const uint8_t* tiles, int blocks, int chained,
                                                   float* sink) {
  const uint32_t warpgroup = threadIdx.x / 128;
  const uint32_t base = ptx::shared_address(tiles);
  const uint64_t b = tile_descriptor(base);
  const uint64_t a = tile_descriptor(base + n * kRowBytes + warpgroup * kMmaRows * kRowBytes);
  uint32_t fragment[kMmasPerBlock][4];
  if constexpr (a_in_registers) {
    const auto* words = reinterpret_cast<const uint32_t*>(tiles) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kMmasPerBlock; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) fragment[i][j] = words[(i * 4 + j) * kMathThreads];
    }
  }
  float accumulator[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) accumulator[i] = 0;

  const uint64_t begin_nanoseconds = global_nanoseconds();
  const int64_t begin = clock64();
#pragma unroll 1
  for (int step = 0; step < blocks / kBlocksPerStep; ++step) {
    ptx::wgmma_fence();
#pragma unroll
    for (int block = 0; block < kBlocksPerStep; ++block) {
#pragma unroll
      for (int i = 0; i < kMmasPerBlock; ++i) {
        constexpr int kDescriptorStep = kMmaDepth / 16;
        const bool accumulate = i != 0 || chained != 0;
        if constexpr (a_in_registers) {
          ptx::wgmma_e4m3(accumulator, fragment[i], b + i * kDescriptorStep, accumulate);
        } else {
          ptx::wgmma_e4m3(accumulator, a + i * kDescriptorStep, b + i * kDescriptorStep,
                          accumulate);
        }
      }
    }
    // While one warpgroup comes around, the other one's group keeps the tensor cores busy.
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(accumulator);
  }
  const CtaTime time{static_cast<uint64_t>(clock64() - begin),
                     global_nanoseconds() - begin_nanoseconds};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) sum += accumulator[i];
  constexpr float kNeverASum = 0.123456f;
  if (sum == kNeverASum) sink[threadIdx.x] = sum;
  return time;
}

}  // namespace bw
