/// \file
/// wgmma m64nNk32 of e4m3: from issue to the end of the wait, and the interval in a long batch, by
/// N, by the location of A and by the number of warpgroups that multiply.

#include <limits>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/mma_block.cuh"

namespace bw::timing {
namespace {

/// Two tiles of A (one a warpgroup) and one of B with N rows.
template <int n>
constexpr uint32_t kTileBytes = (2 * kMmaRows + n) * kMmaRowBytes;

enum class PlaceOfA { shared_memory, registers };

/// `batch` MMAs, a commit, a wait; the second round is measured. A new sum every four MMAs.
template <int n, PlaceOfA place, int batch>
__global__ void __launch_bounds__(256) multiply(Span* spans, int chained, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  for (uint32_t i = threadIdx.x; i < (kTileBytes<n> + kTileAlignment) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[i] = 0;
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
  const uint64_t a = wgmma_descriptor(
      wgmma_descriptor_low(base + n * kMmaRowBytes + threadIdx.x / 128 * kMmaRows * kMmaRowBytes));
  // Zeros that the compiler does not know: it would set the registers again between two MMAs.
  const auto* const words = reinterpret_cast<const volatile uint32_t*>(raw);
  const uint32_t fragment[4] = {words[0], words[1], words[2], words[3]};
  float d[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) d[i] = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = cycle();
    if constexpr (place == PlaceOfA::registers) {
      multiply_and_wait<batch>(d, fragment, b, chained != 0);
    } else {
      multiply_and_wait<batch>(d, a, b, chained != 0);
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) sum += d[i];
  keep(__float_as_uint(sum), sink);
}

template <int n, PlaceOfA place, int batch>
double cycles(uint32_t warpgroups) {
  const auto kernel = multiply<n, place, batch>;
  const uint32_t bytes = kTileBytes<n> + kTileAlignment;
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

constexpr uint32_t kBoxBytes = 16 * 1024;
constexpr uint32_t kMostBoxes = 4;
constexpr int kBlocks = 32;

/// Two warpgroups, each with a wait after every four MMAs, and one thread that keeps `boxes`
/// copies in flight into other shared memory as long as they multiply. Spans: of the two
/// warpgroups' warps, then of the thread that copies, whose span is followed by the number of
/// copies that were complete.
template <int n>
__global__ void __launch_bounds__(288)
    multiply_beside_loads(Span* spans, const uint8_t* source, uint32_t boxes, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[kMostBoxes];
  __shared__ volatile uint32_t finished[2];
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  for (uint32_t i = threadIdx.x; i < (kTileBytes<n> + kTileAlignment) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[i] = 0;
  }
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kMostBoxes; ++i)
      ptx::mbarrier_init(ptx::shared_address(&barriers[i]), 1);
    ptx::fence_mbarrier_init();
    finished[0] = 0;
    finished[1] = 0;
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x >= 256) {
    if (threadIdx.x != 256) return;
    const uint32_t ring =
        base + (kTileBytes<n> + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
    const auto issue = [&](uint32_t box) {
      const uint32_t full = ptx::shared_address(&barriers[box]);
      ptx::mbarrier_arrive_expect_tx(full, kBoxBytes);
      ptx::bulk_load(ring + box * kBoxBytes, source + box * kBoxBytes, kBoxBytes, full);
    };
    const int64_t begin = cycle();
    for (uint32_t box = 0; box < boxes; ++box) issue(box);
    uint32_t box = 0, parity = 0, complete = 0;
    while (boxes != 0) {
      while (!ptx::mbarrier_try_wait_parity(ptx::shared_address(&barriers[box]), parity)) {
      }
      ++complete;
      const bool is_over = finished[0] != 0 && finished[1] != 0;
      if (is_over) break;
      issue(box);
      if (++box == boxes) {
        box = 0;
        parity ^= 1;
      }
    }
    spans[8] = {begin, cycle()};
    spans[9] = {0, complete};
    for (uint32_t left = 1; left < boxes; ++left) {  // the copies in flight
      if (++box == boxes) {
        box = 0;
        parity ^= 1;
      }
      while (!ptx::mbarrier_try_wait_parity(ptx::shared_address(&barriers[box]), parity)) {
      }
    }
    return;
  }
  const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
  const uint64_t a = wgmma_descriptor(
      wgmma_descriptor_low(base + n * kMmaRowBytes + threadIdx.x / 128 * kMmaRows * kMmaRowBytes));
  float d[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) d[i] = 0;
  const int64_t begin = cycle();
#pragma unroll 1
  for (int i = 0; i < kBlocks; ++i) {
    ptx::wgmma_hold(d);
    multiply_and_wait<kMmasPerBlock>(d, a, b, /*chained=*/false);
  }
  const int64_t end = cycle();
  if (threadIdx.x % 128 == 0) finished[threadIdx.x / 128] = 1;
  if (threadIdx.x % 32 == 0) spans[threadIdx.x / 32] = {begin, end};
  float sum = 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) sum += d[i];
  keep(__float_as_uint(sum), sink);
}

template <int n>
void add_beside_loads(Results& results) {
  const auto kernel = multiply_beside_loads<n>;
  constexpr uint32_t kBytes = kTileBytes<n> + 2 * kTileAlignment + kMostBoxes * kBoxBytes;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  DeviceBuffer<uint8_t> source(size_t{kMostBoxes} * kBoxBytes);
  source.fill_bytes(0);
  for (const uint32_t boxes : {0u, 1u, kMostBoxes}) {
    constexpr size_t kSpans = 10;
    DeviceBuffer<Span> spans(kSpans);
    spans.fill_bytes(0);
    double least = std::numeric_limits<double>::max(), rate = 0;
    for (int i = 0; i < (is_simulated() ? 1 : 7); ++i) {
      kernel<<<1, 288, kBytes>>>(spans.data(), source.data(), boxes, nullptr);
      check_cuda(cudaGetLastError(), "launch a measurement");
      check_cuda(cudaDeviceSynchronize(), "finish a measurement");
      const std::vector<Span> all = spans.download();
      const double cycles = median_cta_cycles({all.begin(), all.begin() + 8}, 8);
      if (cycles >= least) continue;
      least = cycles;
      rate = static_cast<double>(all[9].end * kBoxBytes) /
             static_cast<double>(max_of<int64_t>(all[8].end - all[8].begin, 1));
    }
    const std::string parameter = "n=" + std::to_string(n) + " boxes=" + std::to_string(boxes);
    results.add("wgmma.interval_beside_loads", parameter, "cycles",
                least / (2 * kBlocks * kMmasPerBlock));
    if (boxes != 0) results.add("wgmma.loads_beside", parameter, "bytes/cycle", rate);
  }
}

template <int... n>
void add_all_beside_loads(Results& results) {
  (add_beside_loads<n>(results), ...);
}

template <int... n>
void add_all(Results& results) {
  (add<n, PlaceOfA::shared_memory>(results), ...);
  (add<n, PlaceOfA::registers>(results), ...);
}

}  // namespace

void measure_wgmma(Results& results) {
  add_all<8, 16, 32, 64, 128, 192, 256>(results);
  add_all_beside_loads<64, 128, 192>(results);
}

}  // namespace bw::timing
