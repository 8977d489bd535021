/// \file
/// What the L2 cache delivers while MMAs lower the SMs' clock: copies of boxes that it holds, by
/// cycles of the SMs and by wall time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/global_time.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/mma_block.cuh"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr int kMmaN = 128;
constexpr uint32_t kOperandBytes = (2 * kMmaRows + kMmaN) * kMmaRowBytes;
constexpr uint32_t kSlots = 8;
constexpr uint32_t kBoxRows = 128;
constexpr uint32_t kBoxBytes = kBoxRows * kMmaRowBytes;
constexpr uint32_t kBoxesOfSm = 4;  // that it copies again and again
constexpr uint32_t kSharedBytes = kOperandBytes + kSlots * kBoxBytes + kTileAlignment;
constexpr uint32_t kMathThreads = 256;

/// What a CTA's copies took.
struct Copied {
  int64_t cycles;
  int64_t nanoseconds;
};

/// One thread copies boxes while two warpgroups multiply `blocks` times.
__global__ void __launch_bounds__(kMathThreads + 128)
    copy_beside(const __grid_constant__ CUtensorMap map, Copied* copied, uint32_t boxes,
                uint32_t blocks, uint32_t data, float* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[kSlots];
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  const uint32_t full = ptx::shared_address(barriers);
  uint32_t random = threadIdx.x * 2654435761u + 12345;
  for (uint32_t i = threadIdx.x; i < (kOperandBytes + kTileAlignment) / 4; i += blockDim.x) {
    random = random * 1664525u + 1013904223u;
    reinterpret_cast<uint32_t*>(raw)[i] = (random ^ random >> 16) & data;
  }
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kSlots; ++i) ptx::mbarrier_init(full + i * 8, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x < kMathThreads) {
    if (blocks == 0) return;
    float d[kMmaN / 2];
#pragma unroll
    for (float& x : d) x = 0;
    const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
    const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(
        base + kMmaN * kMmaRowBytes + threadIdx.x / 128 * kMmaRows * kMmaRowBytes));
#pragma unroll 1
    for (uint32_t i = 0; i < blocks; ++i)
      multiply_and_wait<2 * kMmasPerBlock>(d, a, b, /*chained=*/false);
    float sum = 0;
#pragma unroll
    for (const float x : d) sum += x;
    if (sink != nullptr) *sink = sum;
    return;
  }
  if (threadIdx.x != kMathThreads) return;
  const uint32_t slots = base + kOperandBytes;
  const auto ask = [&](uint32_t box) {
    const uint32_t slot = box % kSlots;
    ptx::mbarrier_arrive_expect_tx(full + slot * 8, kBoxBytes);
    ptx::tma_load_2d(slots + slot * kBoxBytes, &map, full + slot * 8, 0,
                     static_cast<int32_t>((blockIdx.x * kBoxesOfSm + box % kBoxesOfSm) * kBoxRows));
  };
  const int64_t begin = cycle();
  const auto begin_time = static_cast<int64_t>(nanoseconds());
  for (uint32_t box = 0; box < kSlots; ++box) ask(box);
  for (uint32_t box = 0; box < boxes; ++box) {
    while (!ptx::mbarrier_try_wait_parity(full + box % kSlots * 8, box / kSlots % 2)) {
    }
    if (box + kSlots < boxes) ask(box + kSlots);
  }
  copied[blockIdx.x] = {cycle() - begin, static_cast<int64_t>(nanoseconds()) - begin_time};
}

}  // namespace

void measure_l2_clock(Results& results) {
  const uint32_t sms = sm_count();
  const ByteMatrix matrix(kMmaRowBytes, sms * kBoxesOfSm * kBoxRows);
  const CUtensorMap map = matrix.map(kMmaRowBytes, kBoxRows);
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(copy_beside), kSharedBytes);
  constexpr uint32_t kRandom = 0xf7f7f7f7;  // e4m3 without NaN
  constexpr uint32_t kBoxes = 512;          // some 250 microseconds
  constexpr uint32_t kBlocks = 800;
  struct Beside {
    const char* name;
    uint32_t blocks;  // of MMAs, which take longer than the copies
    uint32_t data;
  };
  for (const Beside& other : {Beside{"nothing", 0, 0}, Beside{"mmas_of_zeros", kBlocks, 0},
                              Beside{"mmas", kBlocks, kRandom}}) {
    const std::vector<double> least = least_medians<int64_t>(
        sms, 2, 2, is_simulated() ? 2 : 7,
        [&](int64_t* copied) {
          copy_beside<<<sms, kMathThreads + 128, kSharedBytes>>>(
              map, reinterpret_cast<Copied*>(copied), kBoxes, other.blocks, other.data, nullptr);
        },
        [](const int64_t* words, size_t number) {
          return std::optional<double>(static_cast<double>(words[number]));
        });
    const double bytes = 1.0 * sms * kBoxes * kBoxBytes;
    const std::string parameter = std::string("beside=") + other.name;
    results.add("l2_clock.copies", parameter, "bytes/cycle", bytes / least[0]);
    results.add("l2_clock.copies_by_time", parameter, "bytes/ns", bytes / least[1]);
  }
}

}  // namespace bw::timing
