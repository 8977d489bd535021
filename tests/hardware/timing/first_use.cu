/// \file
/// What a launch does for the first time: code that no cache of instructions holds yet, tensor maps
/// and pages that the SM hasn't used.

#include <array>
#include <string>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kInstructionBytes = 16;

/// Code without branches, run three times by each warp; its first warp writes each pass's cycles
/// into the span of that pass.
template <uint32_t kib>
__global__ void straight_line(Span* spans, float a, float b, float* sink) {
  constexpr int kChains = 8;
  constexpr uint32_t kInstructions = kib * 1024 / kInstructionBytes;
  static_assert(kInstructions % kChains == 0);
  float sums[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) sums[i] = a * static_cast<float>(i);
#pragma unroll 1
  for (int pass = 0; pass < 3; ++pass) {
    const int64_t begin = cycle();
#pragma unroll
    for (uint32_t i = 0; i < kInstructions; ++i) {
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(sums[i % kChains]) : "f"(a), "f"(b));
    }
    const int64_t end = cycle();
    if (threadIdx.x % 32 == 0) {
      spans[(size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32) * 3 + pass] = {begin, end};
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += sums[i];
  if (sink != nullptr) *sink = sum;
}

constexpr int kCopies = 8;
constexpr uint32_t kBoxRows = 16;
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kBoxBytes = kBoxRows * kRowBytes;
constexpr uint32_t kAlignment = 1024;

struct Maps {
  CUtensorMap near;        // of one matrix
  CUtensorMap near_again;  // the same matrix, another map
  CUtensorMap far;         // a matrix in other pages
  CUtensorMap prefetched;  // the first matrix, a map that is prefetched
};

/// One thread: copies in sequence, each into its own span.
__global__ void tensor_copies(Span* spans, const __grid_constant__ Maps maps) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barrier;
  const uint32_t tile = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(&barrier);
  ptx::mbarrier_init(full, 1);
  ptx::fence_mbarrier_init();
  uint32_t parity = 0;
  const auto copy = [&](int number, const CUtensorMap& map, int32_t box) {
    const int64_t begin = cycle();
    ptx::mbarrier_arrive_expect_tx(full, kBoxBytes);
    ptx::tma_load_2d(tile, &map, full, 0, box * static_cast<int32_t>(kBoxRows));
    while (!ptx::mbarrier_try_wait_parity(full, parity)) {
    }
    parity ^= 1;
    spans[blockIdx.x * kCopies + number] = {begin, cycle()};
  };
  copy(0, maps.near, 0);
  copy(1, maps.near, 1);
  copy(2, maps.near_again, 2);
  copy(3, maps.near, 3);
  copy(4, maps.far, 4);
  copy(5, maps.far, 5);
  ptx::prefetch_tensormap(&maps.prefetched);
  constexpr int64_t kLongEnough = 4000;
  const int64_t begin = cycle();
  while (cycle() - begin < kLongEnough) {
  }
  copy(6, maps.prefetched, 6);
  copy(7, maps.near, 7);
}

constexpr int kLoads = 6;

/// One thread: loads in sequence, each into its own span.
__global__ void loads(Span* spans, const uint32_t* near, const uint32_t* far, uint32_t* sink) {
  uint32_t sum = 0;
  const auto load = [&](int number, const uint32_t* pointer) {
    const int64_t begin = cycle();
    uint32_t value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(pointer) : "memory");
    asm volatile("add.u32 %0, %0, %1;" : "+r"(sum) : "r"(value));
    spans[blockIdx.x * kLoads + number] = {begin, cycle() + static_cast<int64_t>(sum == 1)};
  };
  constexpr uint32_t kApart = 256;  // elements: 1 KiB
  load(0, near);
  load(1, near + kApart);
  load(2, near + 2 * kApart);
  load(3, far);
  load(4, far + kApart);
  load(5, near + 3 * kApart);
  keep(sum, sink);
}

/// Cycles of each of `count` spans of a CTA.
template <class Launch>
std::vector<double> cycles_of_spans(size_t ctas, size_t count, const Launch& launch) {
  const int launches = is_simulated() ? 2 : 7;  // the first finds lines on the far side of L2
  return least_medians<Span>(ctas, count, count, launches, launch,
                             [](const Span* spans, size_t number) -> std::optional<double> {
                               return static_cast<double>(spans[number].end - spans[number].begin);
                             });
}

/// The passes over `kib` KiB of code: of each the time from the first warp's begin to the last
/// one's end.
template <uint32_t kib>
void measure_code(Results& results, uint32_t warps, uint32_t ctas, bool behind_other_code) {
  constexpr size_t kPasses = 3;
  const int launches = is_simulated() ? 2 : 7;  // the first of a kernel finds nothing
  DeviceBuffer<Span> others(size_t{ctas} * kPasses);
  const auto least = least_medians<Span>(
      ctas, warps * kPasses, kPasses, launches,
      [&](Span* spans) {
        if (behind_other_code) straight_line<256><<<ctas, 32>>>(others.data(), 1, 0, nullptr);
        straight_line<kib><<<ctas, warps * 32>>>(spans, 1, 0, nullptr);
      },
      [&](const Span* spans, size_t pass) -> std::optional<double> {
        std::vector<Span> of_pass;
        for (size_t warp = 0; warp < warps; ++warp) of_pass.push_back(spans[warp * kPasses + pass]);
        return median_cta_cycles(of_pass, warps);
      });
  const std::string parameter = "kib=" + std::to_string(kib) + " warps=" + std::to_string(warps) +
                                " ctas=" + std::to_string(ctas) +
                                (behind_other_code ? "" : " launched_again");
  results.add("first_use.code", parameter, "cycles", least[0]);
  results.add("first_use.code_second_pass", parameter, "cycles", least[1]);
}

}  // namespace

void measure_first_use(Results& results) {
  const uint32_t sms = sm_count();
  measure_code<16>(results, 1, 1, true);
  measure_code<64>(results, 1, 1, true);
  measure_code<16>(results, 1, 1, false);
  measure_code<64>(results, 1, 1, false);
  measure_code<16>(results, 4, 1, true);
  measure_code<16>(results, 12, 1, true);
  measure_code<16>(results, 1, sms, true);
  measure_code<16>(results, 4, sms, true);
  measure_code<16>(results, 1, sms, false);
  measure_code<64>(results, 1, sms, true);

  constexpr uint32_t kBoxes = 16;
  const ByteMatrix near(kRowBytes, kBoxRows * kBoxes);
  constexpr size_t kApart = size_t{64} << 20;
  const DeviceBuffer<uint8_t> between(kApart);
  const ByteMatrix far(kRowBytes, kBoxRows * kBoxes);
  const CUtensorMap of_near = near.map(kRowBytes, kBoxRows);
  const Maps maps{of_near, of_near, far.map(kRowBytes, kBoxRows), of_near};
  static constexpr std::array<const char*, kCopies> kCopyNames{"first",
                                                               "same_map",
                                                               "other_map",
                                                               "same_map_again",
                                                               "other_map_and_pages",
                                                               "same_map_and_pages",
                                                               "prefetched_map",
                                                               "first_map_at_last"};
  static constexpr std::array<const char*, kLoads> kLoadNames{
      "first",      "same_page",       "same_page_again",
      "other_page", "same_other_page", "first_page_at_last"};
  DeviceBuffer<uint32_t> near_words(4096), far_words(4096);
  near_words.fill_bytes(0);
  far_words.fill_bytes(0);
  for (const uint32_t ctas : {1u, sms}) {
    const std::string of_ctas = " ctas=" + std::to_string(ctas);
    const auto copies = cycles_of_spans(ctas, kCopies, [&](Span* spans) {
      launch_clusters(tensor_copies, ctas, 1, 1, kBoxBytes + kAlignment, spans, maps);
    });
    for (size_t i = 0; i < kCopies; ++i) {
      results.add("first_use.tensor_copy", kCopyNames[i] + of_ctas, "cycles", copies[i]);
    }
    const auto of_loads = cycles_of_spans(ctas, kLoads, [&](Span* spans) {
      loads<<<ctas, 1>>>(spans, near_words.data(), far_words.data(), nullptr);
    });
    for (size_t i = 1; i < kLoads; ++i) {  // ptxas reads the clock before it waits for the first
      results.add("first_use.load", kLoadNames[i] + of_ctas, "cycles", of_loads[i]);
    }
  }
}

}  // namespace bw::timing
