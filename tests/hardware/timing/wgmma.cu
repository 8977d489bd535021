/// \file
/// wgmma m64nNk32 of e4m3: from issue to the end of the wait, and the interval in a long batch, by
/// N, by where A lies and by the number of warpgroups that multiply.

#include <string>

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kMmaRows = 64;
constexpr int kMmasPerBlock = 4;  // of 32 bytes along K

/// Two tiles of A (one a warpgroup) and one of B with N rows.
template <int n>
constexpr uint32_t kTileBytes = (2 * kMmaRows + n) * kRowBytes;

enum class PlaceOfA { shared_memory, registers };

/// `batch` MMAs, a commit, a wait; the second round is measured. A new sum every four MMAs.
template <int n, PlaceOfA place, int batch>
__global__ void __launch_bounds__(256) multiply(Span* spans, int chained, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  for (uint32_t i = threadIdx.x; i < (kTileBytes<n> + kAlignment) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[i] = 0;
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
  const uint64_t a = wgmma_descriptor(
      wgmma_descriptor_low(base + n * kRowBytes + threadIdx.x / 128 * kMmaRows * kRowBytes));
  // Zeros that the compiler does not know: it would set the registers anew between two MMAs.
  const auto* const words = reinterpret_cast<const volatile uint32_t*>(raw);
  const uint32_t fragment[4] = {words[0], words[1], words[2], words[3]};
  float d[n / 2];
#pragma unroll
  for (float& x : d) x = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = cycle();
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int block = i % kMmasPerBlock;
      constexpr int kDescriptorStep = 2;  // 32 bytes in units of 16
      const bool accumulate = block != 0 || chained != 0;
      if constexpr (place == PlaceOfA::registers) {
        ptx::wgmma_e4m3(d, fragment, b + block * kDescriptorStep, accumulate);
      } else {
        ptx::wgmma_e4m3(d, a + block * kDescriptorStep, b + block * kDescriptorStep, accumulate);
      }
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(d);
    end = cycle();
  }
  write_span(spans, begin, end);
  float sum = 0;
#pragma unroll
  for (const float x : d) sum += x;
  keep(__float_as_uint(sum), sink);
}

template <int n, PlaceOfA place, int batch>
double cycles(uint32_t warpgroups) {
  const auto kernel = multiply<n, place, batch>;
  const uint32_t bytes = kTileBytes<n> + kAlignment;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), bytes);
  return least_cycles(1, warpgroups * 4,
                      [&](Span* s) { kernel<<<1, warpgroups * 128, bytes>>>(s, 0, nullptr); });
}

template <int n, PlaceOfA place>
void add(Results& results) {
  constexpr int kShort = 8, kLong = 40;
  const std::string parameter =
      "n=" + std::to_string(n) +
      (place == PlaceOfA::registers ? " a=registers" : " a=shared_memory");
  results.add("wgmma.single", parameter, "cycles", cycles<n, place, 1>(1));
  for (const uint32_t warpgroups : {1u, 2u}) {
    const double more = cycles<n, place, kLong>(warpgroups) - cycles<n, place, kShort>(warpgroups);
    results.add("wgmma.interval", parameter + " warpgroups=" + std::to_string(warpgroups), "cycles",
                more / ((kLong - kShort) * warpgroups));
  }
}

template <int... n>
void add_all(Results& results) {
  (add<n, PlaceOfA::shared_memory>(results), ...);
  (add<n, PlaceOfA::registers>(results), ...);
}

}  // namespace

void measure_wgmma(Results& results) { add_all<8, 16, 32, 64, 128, 192, 256>(results); }

}  // namespace bw::timing
