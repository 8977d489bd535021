/// \file
/// Contention for the memory of an SM: stores to device memory that touch 4 lines or 32 an
/// instruction, MMAs with their operands in shared memory, copies by TMA, loads from shared memory
/// and operations on mbarriers. One of them is measured, alone and alongside others.

#include <cstdint>
#include <string>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/mma_block.cuh"

namespace bw::timing {
namespace {

constexpr int kUnrolled = 8;
constexpr int kRounds = 32;
constexpr uint32_t kGroupThreads = 128;  // four warps do the same
constexpr uint32_t kMmaColumns = 128;
constexpr uint32_t kOperandBytes = (kMmaRows + kMmaColumns) * kMmaRowBytes;
constexpr uint32_t kCopyBytes = 8192;
constexpr uint32_t kCopies = 4;  // in flight
constexpr uint32_t kSharedBytes = kOperandBytes + kCopies * kCopyBytes + 2 * kTileAlignment;
constexpr uint32_t kStoreStrideBytes = 1024;  // of two rows

enum class Work { nothing, rows, lines, mmas, copies, waits };

const char* name_of(Work work) {
  constexpr const char* kNames[] = {"nothing", "stores_to_32_rows", "stores_to_4_lines", "mmas",
                                    "copies",  "passing_wait"};
  return kNames[static_cast<int>(work)];
}

/// What four warps work with.
struct Place {
  uint32_t operands;  ///< shared address
  uint32_t copied;    ///< shared address
  uint32_t barriers;  ///< shared address of kCopies barriers
  uint8_t* global;
  const uint8_t* source;
};

/// kUnrolled instructions of the calling warp (of a warpgroup: MMAs; of one thread: copies).
template <Work work>
__device__ __forceinline__ void work_once(const Place& place, float (&d)[kMmaColumns / 2],
                                          uint32_t& parity) {
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  if constexpr (work == Work::rows || work == Work::lines) {
    uint8_t* const first = place.global + warp * 32 * kStoreStrideBytes +
                           lane * (work == Work::rows ? kStoreStrideBytes : 16);
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) {
      asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(
                       first + i * (work == Work::rows ? 16 : 512)),
                   "r"(lane)
                   : "memory");
    }
  } else if constexpr (work == Work::mmas) {
    const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(place.operands));
    const uint64_t a =
        wgmma_descriptor(wgmma_descriptor_low(place.operands + kMmaColumns * kMmaRowBytes));
    multiply_and_wait<kUnrolled>(d, a, b, /*chained=*/true);
  } else if constexpr (work == Work::waits) {
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) {
      while (!ptx::mbarrier_try_wait_parity(place.barriers, 1)) {  // of the phase before the first
      }
    }
  } else if constexpr (work == Work::copies) {
    if (threadIdx.x % kGroupThreads == 0) {
      for (uint32_t i = 0; i < kCopies; ++i) {
        const uint32_t barrier = place.barriers + i * 8;
        while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
        }
        ptx::mbarrier_arrive_expect_tx(barrier, kCopyBytes);
        ptx::bulk_load(place.copied + i * kCopyBytes, place.source + i * kCopyBytes, kCopyBytes,
                       barrier);
      }
      parity ^= 1;
    }
  }
}

/// Warps 0 to 3 are measured; the next four, or the next eight, do `other` until those have
/// ended.
template <Work measured, Work other, int other_groups>
__global__ void __launch_bounds__((1 + other_groups) * kGroupThreads)
    side_by_side(Span* spans, uint8_t* global, const uint8_t* source, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ volatile uint32_t ended;
  __shared__ uint64_t barriers[1 + other_groups][kCopies];
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  const uint32_t skipped = base - ptx::shared_address(raw);
  for (uint32_t i = threadIdx.x; i < (kOperandBytes + kCopies * kCopyBytes) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw + skipped)[i] = 0;
  }
  const uint32_t group = threadIdx.x / kGroupThreads;
  if (threadIdx.x == 0) ended = 0;
  if (threadIdx.x % kGroupThreads == 0) {
    for (uint32_t i = 0; i < kCopies; ++i) {
      const uint32_t barrier = ptx::shared_address(&barriers[group][i]);
      ptx::mbarrier_init(barrier, 1);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const Place place{base, base + kOperandBytes, ptx::shared_address(barriers[group]),
                    global + group * (128 * kStoreStrideBytes), source};
  float d[kMmaColumns / 2];
#pragma unroll
  for (float& x : d) x = 0;
  uint32_t parity = 0;
  // The first copies: the loop waits before it begins further ones.
  if ((group == 0 ? measured : other) == Work::copies && threadIdx.x % kGroupThreads == 0) {
    for (uint32_t i = 0; i < kCopies; ++i) {
      ptx::mbarrier_arrive_expect_tx(place.barriers + i * 8, kCopyBytes);
      ptx::bulk_load(place.copied + i * kCopyBytes, place.source + i * kCopyBytes, kCopyBytes,
                     place.barriers + i * 8);
    }
  }
  if (group == 0) {
    int64_t begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      begin = cycle();
#pragma unroll 1
      for (int i = 0; i < kRounds; ++i) work_once<measured>(place, d, parity);
      end = cycle();
    }
    write_span(spans, begin, end);
    asm volatile("bar.sync 1, %0;" ::"r"(kGroupThreads) : "memory");
    if (threadIdx.x == 0) ended = 1;
  } else if constexpr (other != Work::nothing) {
    const bool works = other != Work::copies || threadIdx.x % kGroupThreads == 0;
#pragma unroll 1
    while (works && ended == 0) work_once<other>(place, d, parity);
  }
  // The last copies land before the CTA ends.
  if ((group == 0 ? measured : other) == Work::copies && threadIdx.x % kGroupThreads == 0) {
    for (uint32_t i = 0; i < kCopies; ++i) {
      while (!ptx::mbarrier_try_wait_parity(place.barriers + i * 8, parity)) {
      }
    }
  }
  float sum = 0;
#pragma unroll
  for (const float x : d) sum += x;
  keep(__float_as_uint(sum), sink);
}

template <Work measured, Work other, int other_groups = 1>
void add(Results& results, uint8_t* global, const uint8_t* source) {
  const auto kernel = side_by_side<measured, other, other_groups>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kSharedBytes);
  constexpr uint32_t kWarps = kGroupThreads / 32;
  const double cycles = least_cycles(1, kWarps, [&](Span* s) {
    kernel<<<1, (1 + other_groups) * kGroupThreads, kSharedBytes>>>(s, global, source, nullptr);
  });
  // Instructions of all four warps where they take turns, of one where each waits for its own; MMAs
  // are the warpgroup's; a round has kCopies copies.
  constexpr bool of_each = measured == Work::mmas || measured == Work::waits;
  const double count = of_each                    ? 1.0 * kUnrolled * kRounds
                       : measured == Work::copies ? 1.0 * kCopies * kRounds
                                                  : 1.0 * kUnrolled * kRounds * kWarps;
  results.add(std::string("contention.") + name_of(measured),
              std::string("beside=") + (other_groups == 1 ? "" : "2 ") + name_of(other),
              "cycles/instruction", cycles / count);
}

template <Work measured, Work... other>
void add_all(Results& results, uint8_t* global, const uint8_t* source) {
  (add<measured, other>(results, global, source), ...);
}

}  // namespace

void measure_contention(Results& results) {
  using enum Work;
  DeviceBuffer<uint8_t> global(3 * 128 * kStoreStrideBytes), source(kCopies * kCopyBytes);
  global.fill_bytes(0);
  source.fill_bytes(0);
  uint8_t* const g = global.data();
  const uint8_t* const s = source.data();
  add_all<rows, nothing, mmas, copies>(results, g, s);
  add_all<lines, nothing, mmas, copies>(results, g, s);
  add_all<mmas, nothing, rows, lines, mmas, copies>(results, g, s);
  add_all<copies, nothing, rows, lines, mmas>(results, g, s);
  add_all<waits, nothing, mmas, copies>(results, g, s);
  add<waits, mmas, 2>(results, g, s);
}

}  // namespace bw::timing
