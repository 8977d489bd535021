#pragma once
/// \file
/// A kernel whose CTAs share an SM as those of a GEMM for few rows do: a ring of copies for small
/// MMAs, by one warp that loads and a warpgroup that multiplies.

#include <cstdint>
#include <limits>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "tests/hardware/timing/clock.cuh"

namespace bw::timing {

constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kRowBytes = 128;  ///< of a box
constexpr uint32_t kWideRows = 64;   ///< of the box that CTAs stream
constexpr uint32_t kWideBytes = kWideRows * kRowBytes;
constexpr uint32_t kMostStages = 8;
constexpr uint32_t kWarpgroupThreads = 128;
constexpr uint32_t kThreads = kWarpgroupThreads + 32;  ///< the last warp asks for copies
/// Of an SM, and what of it each CTA takes for the system.
constexpr uint32_t kSharedBytes = 228 * 1024, kSystemBytes = 1024;

__device__ inline void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// Longer than a launch takes to begin all CTAs.
constexpr int64_t kLaunchCycles = 8000;

/// What a CTA does: `blocks` stages of a wide box and, where MMAs are, a narrow one.
struct Work {
  uint32_t blocks = 8;
  uint32_t stages = 4;
  uint32_t wide_tiles = 1;     ///< CTA i streams wide tile i % wide_tiles
  uint32_t narrow_tiles = 1;   ///< and narrow tile i / wide_tiles % narrow_tiles
  uint32_t columns = 8;        ///< boxes of a row of either matrix: block i has the i % columns-th
  uint32_t sms = 0xffff'ffff;  ///< CTAs on SMs from this one on only wait for a while
};

/// Rings of copies for MMAs of n columns (0: the copies are only waited for), whose products are
/// added up with two factors, as where blocks have scales.
template <int n>
__global__ void __launch_bounds__(kThreads)
    stream(const __grid_constant__ CUtensorMap wide, const __grid_constant__ CUtensorMap narrow,
           const Work work, uint32_t* sink) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm >= work.sms) {
    // Until all CTAs have an SM: else others would come here instead of to their own.
    const int64_t begin = cycle();
    while (cycle() - begin < kLaunchCycles) {
    }
    return;
  }
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full_barriers[kMostStages], empty_barriers[kMostStages];
  __shared__ float factors[64];
  constexpr uint32_t kNarrowBytes = n * kRowBytes;
  constexpr int kRegisters = n == 0 ? 1 : n / 2;
  const uint32_t wides = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t narrows = wides + work.stages * kWideBytes;
  const uint32_t full = ptx::shared_address(full_barriers);
  const uint32_t empty = ptx::shared_address(empty_barriers);
  if (threadIdx.x < 64) factors[threadIdx.x] = 1;
  if (threadIdx.x == kWarpgroupThreads) {
    for (uint32_t i = 0; i < work.stages; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, kWarpgroupThreads / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t stage = 0, parity = 0;
  const auto step = [&] {
    if (++stage == work.stages) {
      stage = 0;
      parity ^= 1;
    }
  };
  if (threadIdx.x >= kWarpgroupThreads) {
    const uint32_t wide_row = blockIdx.x % work.wide_tiles * kWideRows;
    const uint32_t narrow_row = blockIdx.x / work.wide_tiles % work.narrow_tiles * n;
    uint32_t column = 0;
    for (uint32_t i = 0; i < work.blocks; ++i) {
      wait(empty + stage * kBarrierBytes, parity ^ 1);
      if (ptx::elect_one()) {
        const uint32_t barrier = full + stage * kBarrierBytes;
        const auto x = static_cast<int32_t>(column * kRowBytes);
        ptx::mbarrier_arrive_expect_tx(barrier, kWideBytes + kNarrowBytes);
        ptx::tma_load_2d(wides + stage * kWideBytes, &wide, barrier, x,
                         static_cast<int32_t>(wide_row));
        if constexpr (n > 0)
          ptx::tma_load_2d(narrows + stage * kNarrowBytes, &narrow, barrier, x,
                           static_cast<int32_t>(narrow_row));
      }
      __syncwarp();
      step();
      if (++column == work.columns) column = 0;
    }
    return;
  }
  float sums[kRegisters];
#pragma unroll
  for (float& sum : sums) sum = 0;
#pragma unroll 1
  for (uint32_t i = 0; i < work.blocks; ++i) {
    wait(full + stage * kBarrierBytes, parity);
    if constexpr (n > 0) {
      float product[kRegisters];
      constexpr uint32_t kUnit = 16, kMmaBytes = 32;
      const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(wides + stage * kWideBytes));
      const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(narrows + stage * kNarrowBytes));
      ptx::wgmma_hold(product);
      ptx::wgmma_fence();
#pragma unroll
      for (uint32_t k = 0; k < kRowBytes / kUnit; k += kMmaBytes / kUnit)
        ptx::wgmma_e4m3(product, a + k, b + k, k != 0);
      ptx::wgmma_commit_group();
      float scales[kRegisters / 2];
#pragma unroll
      for (int j = 0; j < kRegisters / 2; ++j)
        scales[j] = factors[j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2];
      ptx::wgmma_wait_group<0>();
      ptx::wgmma_hold(product);
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty + stage * kBarrierBytes);
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        sums[j] = fmaf(product[j], scales[j / 4 * 2 + j % 2], sums[j]);
    } else {
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty + stage * kBarrierBytes);
      __syncwarp();
    }
    step();
  }
  float sum = 0;
#pragma unroll
  for (const float one : sums) sum += one;
  keep(__float_as_uint(sum), sink);
}

/// Bytes of shared memory that each of `residents` CTAs takes so that no more fit on an SM.
constexpr uint32_t shared_bytes_of(uint32_t residents) {
  return kSharedBytes / residents - kSystemBytes - kAlignment;
}

}  // namespace bw::timing
