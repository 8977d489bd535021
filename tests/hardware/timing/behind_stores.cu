/// \file
/// Duration of a load, a wait or a copy after stores that have not left the SM, and of copies out
/// of shared memory: for one SM and for all, in step.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/device/bulk_copy.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/global_store.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_store.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

enum class Probe { load, copy };
constexpr const char* kProbeNames[] = {"load", "copy"};

constexpr uint32_t kThreads = 10 * 32;  // eight warps store, one asks for copies, one is measured
constexpr uint32_t kStoreWarps = 8, kCopyWarp = 8, kProbeWarp = 9;
constexpr uint32_t kRounds = 12, kUnmeasured = 4;
constexpr int64_t kRoundCycles = 12288;
constexpr uint32_t kMostBytes = 65536;  // of a round
constexpr uint32_t kCopiedBytes = 8192;
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kSharedBytes = kMostBytes + kCopiedBytes + 2 * kAlignment;
constexpr uint32_t kWords = 8;
constexpr uint32_t kBytesPerInstruction = 512;
enum Number : uint32_t { kProbed, kIssued, kRead, kWritten };

/// `stores` instructions of each of eight warps, or `copies` boxes of `box_bytes`; then the probe,
/// by a warp that has stored itself or, with copies, by another one `delay` cycles later.
template <Probe probe>
__global__ void __launch_bounds__(kThreads, 1)
    rounds(uint32_t* words, uint8_t* output, const __grid_constant__ CUtensorMap map,
           const uint8_t* source, uint32_t stores, uint32_t copies, uint32_t box_bytes,
           uint32_t box_rows, uint32_t delay, uint32_t* sink) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barrier_object;
  __shared__ volatile uint32_t word;
  const uint32_t base = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t barrier = ptx::shared_address(&barrier_object);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    word = 0;
  }
  __syncthreads();
  const uint32_t warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const bool probes = warp == (copies == 0 ? 0 : kProbeWarp);
  const int64_t begin = cycle();
  uint32_t probed = 0, issued = 0, read = 0, written = 0, used = 0;
  uint8_t* const own = output + size_t{blockIdx.x} * kMostBytes;
  const uint8_t* const lines = source + size_t{blockIdx.x} * (kRounds + 1) * kCopiedBytes;
#pragma unroll 1
  for (uint32_t round = 0; round < kRounds; ++round) {
    while (threadIdx.x == 0 && cycle() < begin + round * kRoundCycles) {
    }
    __syncthreads();
    const uint32_t at = short_clock();
    if (round == kUnmeasured) probed = issued = read = written = 0;
    if (warp < kStoreWarps) {
      uint8_t* pointer = own + warp * kBytesPerInstruction + lane * 16;
#pragma unroll 1
      for (uint32_t i = 0; i < stores; ++i, pointer += kStoreWarps * kBytesPerInstruction)
        ptx::store_global_v4(pointer, make_uint4(round, i, lane, warp));
    } else if (warp == kCopyWarp && copies != 0) {
      if (ptx::elect_one()) {
        const uint32_t asked = short_clock();
#pragma unroll 1
        for (uint32_t i = 0; i < copies; ++i) {
          ptx::tma_store_2d(&map, 0, (blockIdx.x * copies + i) * box_rows, base + i * box_bytes);
          ptx::bulk_commit_group();
        }
        const uint32_t given = short_clock();
        ptx::bulk_wait_group_read<0>();
        const uint32_t is_read = short_clock();
        ptx::bulk_wait_group<0>();
        issued += given - asked;
        read += is_read - asked;
        written += short_clock() - asked;
      }
      __syncwarp();
    }
    if (probes) {
      while (short_clock() - at < delay) {
      }
      const uint32_t asked = short_clock();
      if constexpr (probe == Probe::copy) {
        if (ptx::elect_one()) {
          ptx::mbarrier_arrive_expect_tx(barrier, kCopiedBytes);
          ptx::bulk_load(base + kMostBytes, lines + round * kCopiedBytes, kCopiedBytes, barrier);
        }
        __syncwarp();
        while (!ptx::mbarrier_try_wait_parity(barrier, round & 1)) {
        }
      } else {
        uint32_t value;
        asm volatile("ld.global.cg.u32 %0, [%1];"
                     : "=r"(value)
                     : "l"(lines + round * kCopiedBytes + lane * 4)
                     : "memory");
        used += value;
      }
      // The clock is read when the value is there.
      if (used == 0x12345678) word = 1;
      probed += short_clock() - asked;
    }
    asm volatile("membar.gl;" ::: "memory");
  }
  uint32_t* const own_words = words + blockIdx.x * kWords;
  if (probes && lane == 0) own_words[kProbed] = probed;
  if (issued != 0) {
    own_words[kIssued] = issued;
    own_words[kRead] = read;
    own_words[kWritten] = written;
  }
  keep(used, sink);
}

struct Stores {
  uint32_t stores = 0;
  uint32_t copies = 0;
  uint32_t box_bytes = 8192;
  uint32_t delay = 0;
};

template <Probe probe>
void add(Results& results, uint32_t sms, const Stores& of, bool tells_copies) {
  const auto kernel = rounds<probe>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kSharedBytes);
  ByteMatrix output(kRowBytes, sms * kMostBytes / kRowBytes);
  const uint32_t box_rows = of.box_bytes / kRowBytes;
  const CUtensorMap map = output.map(kRowBytes, box_rows);
  DeviceBuffer<uint8_t> source(size_t{sms} * (kRounds + 1) * kCopiedBytes);
  source.fill_bytes(0);
  const std::string what =
      of.copies == 0 ? "stored=" + std::to_string(of.stores * kStoreWarps * kBytesPerInstruction)
                     : "copied=" + std::to_string(of.copies) + "x" + std::to_string(of.box_bytes) +
                           " delay=" + std::to_string(of.delay);
  for (const uint32_t ctas : {1u, sms}) {
    const std::vector<double> found = least_medians<uint32_t>(
        ctas, kWords, 4, is_simulated() ? 2 : 5,
        [&](uint32_t* words) {
          kernel<<<ctas, kThreads, kSharedBytes>>>(words, output.data(), map, source.data(),
                                                   of.stores, of.copies, of.box_bytes, box_rows,
                                                   of.delay, nullptr);
        },
        [](const uint32_t* words, size_t number) -> std::optional<double> {
          return words[number];
        });
    const auto add_row = [&](const char* name, Number number) {
      results.add(std::string("behind_stores.") + name, what + " sms=" + std::to_string(ctas),
                  "cycles", found[number] / (kRounds - kUnmeasured));
    };
    if (tells_copies) {
      add_row("copy_issue", kIssued);
      add_row("copy_read", kRead);
      add_row("copy_written", kWritten);
    } else {
      add_row(kProbeNames[static_cast<int>(probe)], kProbed);
    }
  }
}

template <Probe probe>
void add_probes(Results& results, uint32_t sms) {
  for (const uint32_t stores : {0u, 1u, 4u, 16u})
    add<probe>(results, sms, {.stores = stores}, false);
  for (const uint32_t copies : {1u, 2u, 4u})
    add<probe>(results, sms, {.copies = copies, .delay = 200}, false);
  for (const uint32_t delay : {700u, 1500u, 3000u})
    add<probe>(results, sms, {.copies = 8, .delay = delay}, false);
}

}  // namespace

void measure_behind_stores(Results& results) {
  const uint32_t sms = sm_count();
  add_probes<Probe::load>(results, sms);
  add_probes<Probe::copy>(results, sms);
  for (const uint32_t box_bytes : {4096u, 8192u, 16384u})
    for (const uint32_t copies : {1u, 2u, 4u})
      add<Probe::load>(results, sms, {.copies = copies, .box_bytes = box_bytes, .delay = 4000},
                       true);
}

}  // namespace bw::timing
