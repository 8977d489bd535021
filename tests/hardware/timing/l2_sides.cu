/// \file
/// The two sides of the L2 cache: the cost of a line that only the other side has, and the share
/// of earlier reads that is no longer near, by their size.

#include <cstdint>
#include <string>
#include <vector>

#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/l2_flush.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kLines = 512;
constexpr uint32_t kLineStride = 4096 + 128;  // another chunk each time
constexpr uint32_t kRowBytes = 512;           // a warp's: 16 bytes of each lane
constexpr uint32_t kMatrixRowBytes = 8192;
constexpr uint32_t kColumns = kMatrixRowBytes / kRowBytes;
constexpr uint32_t kSweepThreads = 256;
constexpr uint32_t kSweeps = 5;               // the last of which counts
constexpr int64_t kNearCycles = 480;          // a row that is near takes 345, a far one 540
constexpr uint32_t kOneCtaAnSm = 120 * 1024;  // bytes of shared memory
constexpr int64_t kPlacingCycles = 5000;      // in which all CTAs of a launch find their SMs

/// One warp of SM `sm` reads lines in sequence, twice: the cycles of each time.
__global__ void read_lines(const uint8_t* base, uint32_t sm, uint32_t* cycles) {
  uint32_t own;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(own));
  if (own != sm) {  // keeps its SM, so that the others get theirs
    const int64_t begin = cycle();
    while (cycle() - begin < kPlacingCycles) {
    }
    return;
  }
  uint32_t zero = 0;
  for (uint32_t pass = 0; pass < 2; ++pass) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < kLines; ++i) {
      uint32_t value;
      const int64_t begin = cycle();
      asm volatile("ld.global.cg.u32 %0, [%1];"
                   : "=r"(value)
                   : "l"(base + i * kLineStride + threadIdx.x * sizeof(value) + zero)
                   : "memory");
      if (value != 0) return;  // waits for it; the data are zeros
      sum += static_cast<uint32_t>(cycle() - begin);
      zero += value;
    }
    if (threadIdx.x == 0 && cycles != nullptr) cycles[pass] = sum;
  }
}

/// Each warp of CTA c reads rows of its part in sequence; counts those that were not near.
__global__ void read_rows(const uint8_t* base, uint64_t cta_step, uint64_t row_step, uint32_t rows,
                          uint32_t* far_rows) {
  const uint8_t* const first = base + blockIdx.x * cta_step + threadIdx.x % 32 * sizeof(uint4);
  uint32_t zero = 0;
  uint32_t far = 0;
  for (uint32_t row = threadIdx.x / 32; row < rows; row += blockDim.x / 32) {
    uint4 value;
    const int64_t begin = cycle();
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(first + row * row_step + zero)
                 : "memory");
    if ((value.x | value.y | value.z | value.w) != 0) return;
    if (cycle() - begin >= kNearCycles) ++far;
    zero += value.x;
  }
  if (threadIdx.x % 32 == 0) atomicAdd(far_rows, far);
}

}  // namespace

void measure_l2_sides(Results& results) {
  const uint32_t sms = sm_count();
  constexpr size_t kMebibyte = size_t{1} << 20;
  constexpr uint32_t kMost = 48;
  const L2Flush flush;
  DeviceBuffer<uint8_t> memory(kMost * kMebibyte);
  memory.fill_bytes(0);
  {
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(read_lines), kOneCtaAnSm);
    DeviceBuffer<uint32_t> cycles(2);
    double more = 0;
    for (uint32_t sm = 0; sm < sms; ++sm) {
      flush.run();
      read_lines<<<sms, 32, kOneCtaAnSm>>>(memory.data(), 0, nullptr);
      read_lines<<<sms, 32, kOneCtaAnSm>>>(memory.data(), sm, cycles.data());
      check_cuda(cudaDeviceSynchronize(), "finish a measurement");
      const std::vector<uint32_t> of_passes = cycles.download();
      more += 1.0 * of_passes[0] - of_passes[1];
    }
    results.add("l2_sides.first_read", "beyond the second", "cycles", more / sms / kLines);
  }
  const auto add = [&](const char* name, uint32_t mebibytes, uint32_t ctas, uint64_t cta_step,
                       uint64_t row_step, uint32_t rows) {
    DeviceBuffer<uint32_t> far(1);
    flush.run();
    for (uint32_t i = 0; i < kSweeps; ++i) {
      far.fill_bytes(0);
      read_rows<<<ctas, kSweepThreads>>>(memory.data(), cta_step, row_step, rows, far.data());
    }
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    results.add(
        "l2_sides.far_or_missing",
        std::string(name) + " MiB=" + std::to_string(mebibytes) + " sms=" + std::to_string(ctas),
        "part", 1.0 * far.download().front() / rows / ctas);
  };
  for (const uint32_t mebibytes : {28u, 32u, 36u, 40u, 48u}) {
    add("columns", mebibytes, kColumns, kRowBytes, kMatrixRowBytes,
        static_cast<uint32_t>(mebibytes * kMebibyte / kMatrixRowBytes));
  }
  // 36 MiB is where windows begin not to fit: no two runs agree there (README.md).
  for (const uint32_t mebibytes : {40u, 48u}) {
    const auto rows = static_cast<uint32_t>(mebibytes * kMebibyte / kRowBytes / sms);
    add("windows", mebibytes, sms, uint64_t{rows} * kRowBytes, kRowBytes, rows);
  }
}

}  // namespace bw::timing
