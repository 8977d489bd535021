/// \file
/// The interval from a launch to the first data of a pipelined kernel, after launches of other
/// code: warps that take different paths, parameters and tensor maps, barriers and registers, the
/// thread that issues copies, and copies that all SMs issue at once.

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/new_code.cuh"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/spans.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

void run_other_code() { other_code<256><<<sm_count(), 32>>>(1, nullptr); }

/// Cycles of each of a CTA's stamps since stamp `from(i)`: the median over the CTAs, of that the
/// least over some launches after other code.
std::vector<double> stamped_cycles(size_t ctas, size_t count,
                                   const std::function<size_t(size_t)>& from,
                                   const std::function<void(uint32_t*)>& launch) {
  const int launches = is_simulated() ? 2 : 9;  // the first finds nothing in the L2 cache
  return least_medians<uint32_t>(
      ctas, count, count, launches,
      [&](uint32_t* stamps) {
        run_other_code();
        launch(stamps);
      },
      [&](const uint32_t* stamps, size_t number) -> std::optional<double> {
        return stamps[number] - stamps[from(number)];
      });
}
size_t before(size_t number) { return number == 0 ? 0 : number - 1; }
size_t first_of_all(size_t) { return 0; }

// ---- Code

constexpr uint32_t kRoles = 3;
constexpr uint32_t kRoleWarps = 4;

/// Three roles of four warps; those of `active` run code of their own.
__global__ void roles(uint32_t* out, uint32_t active, float a, float b, float* sink) {
  constexpr uint32_t kInstructions = 4096 / kInstructionBytes;
  __shared__ uint32_t stamps[kRoles * kRoleWarps * 2];
  float sums[kChains];
  begin_sums(sums, a);
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  const uint32_t role = warp / kRoleWarps;
  stamp(stamps + 2 * warp);
  if ((active >> role & 1) != 0) {
    if (role == 0) {
      straight<kInstructions>(sums, a, b);
    } else if (role == 1) {
      straight<kInstructions>(sums, b, a);
    } else {
      straight<kInstructions>(sums, a, a);
    }
  }
  stamp(stamps + 2 * warp + 1);
  keep_sums(sums, sink);
  write_stamps(out, stamps, kRoles * kRoleWarps * 2);
}

void measure_roles(Results& results, uint32_t ctas) {
  for (const uint32_t active : {1u, 2u, 4u, 7u}) {
    const auto cycles =
        stamped_cycles(ctas, kRoles * kRoleWarps * 2, first_of_all, [&](uint32_t* out) {
          roles<<<ctas, kRoles * kRoleWarps * 32>>>(out, active, 1, 0, nullptr);
        });
    for (uint32_t role = 0; role < kRoles; ++role)
      if ((active >> role & 1) != 0)
        results.add("start.role",
                    "role=" + std::to_string(role) + (active == 7 ? " of 3" : " alone") +
                        " ctas=" + std::to_string(ctas),
                    "cycles", cycles[(role + 1) * kRoleWarps * 2 - 1]);
  }
}

// ---- Parameters, tensor maps

constexpr uint32_t kParameterWords = 600;
struct Parameters {
  std::array<uint32_t, kParameterWords> words;
};

constexpr int kReads = 16;

/// One thread reads parameters in sequence, `apart` words from each other, and then again.
__global__ void parameters(uint32_t* out, const __grid_constant__ Parameters given, uint32_t apart,
                           uint32_t* sink) {
  __shared__ uint32_t stamps[2 * kReads + 1];
  uint32_t at = 0;
#pragma unroll 1
  for (int i = 0; i < 2 * kReads; ++i) {
    stamp(stamps + i);
    const uint32_t value = given.words[at];  // 0, unknown to the compiler
    if (value != 0) *sink = value;
    at = i + 1 == kReads ? value : at + apart + value;
  }
  stamp(stamps + 2 * kReads);
  write_stamps(out, stamps, 2 * kReads + 1);
}

void measure_parameters(Results& results, uint32_t ctas) {
  for (const uint32_t apart : {8u, 32u}) {
    const auto reads = stamped_cycles(ctas, 2 * kReads + 1, before, [&](uint32_t* out) {
      parameters<<<ctas, 32>>>(out, Parameters{}, apart, nullptr);
    });
    const std::string parameter =
        "bytes_apart=" + std::to_string(4 * apart) + " ctas=" + std::to_string(ctas);
    // The first reads go through code that is new.
    results.add("start.parameter", parameter, "cycles", (reads[3] + reads[4]) / 2);
    results.add("start.parameter_again", parameter, "cycles", reads[kReads + 3]);
  }
}

constexpr int kMaps = 6;
struct Maps {
  CUtensorMap maps[kMaps];
};
constexpr uint32_t kSmallBoxRows = 16;
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kAlignment = 1024;
constexpr int kMapCopies = 8;

/// One thread: copies in sequence, by maps that it has used, prefetched, or not.
__global__ void map_copies(uint32_t* out, const __grid_constant__ Maps maps) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t stamps[kMapCopies * 2 + 3];
  const uint32_t tile = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(&barrier);
  ptx::mbarrier_init(full, 1);
  ptx::fence_mbarrier_init();
  stamp(stamps);
  ptx::prefetch_tensormap(&maps.maps[3]);
  stamp(stamps + 1);
  ptx::prefetch_tensormap(&maps.maps[4]);
  stamp(stamps + 2);
  // By number of the copy: 0 first of all, 1 another map, the same, 0 again, 3 (prefetched), 4
  // (prefetched), 5 just prefetched, 2 another map.
  constexpr uint32_t kOrder = 0x25430110;
#pragma unroll 1
  for (int i = 0; i < kMapCopies; ++i) {
    const CUtensorMap* const map = &maps.maps[kOrder >> 4 * i & 0xf];
    if (i == 6) ptx::prefetch_tensormap(map);
    stamp(stamps + 3 + 2 * i);
    ptx::mbarrier_arrive_expect_tx(full, kSmallBoxRows * kRowBytes);
    ptx::tma_load_2d(tile, map, full, 0, i * static_cast<int32_t>(kSmallBoxRows));
    while (!ptx::mbarrier_try_wait_parity(full, i & 1)) {
    }
    stamp(stamps + 4 + 2 * i);
  }
  write_stamps(out, stamps, kMapCopies * 2 + 3);
}

void measure_maps(Results& results, uint32_t ctas) {
  const ByteMatrix matrix(kRowBytes, kSmallBoxRows * kMapCopies);
  Maps maps{};
  for (CUtensorMap& map : maps.maps) map = matrix.map(kRowBytes, kSmallBoxRows);
  const auto copies = stamped_cycles(ctas, kMapCopies * 2 + 3, before, [&](uint32_t* out) {
    launch_clusters(map_copies, ctas, 1, 1, kSmallBoxRows * kRowBytes + kAlignment, out, maps);
  });
  static constexpr std::array<const char*, kMapCopies> kNames{
      "first",           "other",  "same", "first again", "prefetched", "prefetched other",
      "just prefetched", "another"};
  for (size_t i = 0; i < kMapCopies; ++i)
    results.add("start.map_copy", kNames[i] + (" ctas=" + std::to_string(ctas)), "cycles",
                copies[4 + 2 * i]);
}

constexpr int kMostCopies = 4;
constexpr uint32_t kAskedRows = 8;  // of a box: 1 KB

/// The thread that issues copies: the lane that elect.sync chose, or thread 0.
enum class Asks : uint32_t { elected, thread };

/// One lane issues `count` boxes of 1 KB, round after round, with a stamp before and after each.
template <Asks asks, int count>
__global__ void ask_for_copies(uint32_t* out, const __grid_constant__ CUtensorMap map) {
  constexpr uint32_t kRounds = 4, kBytes = kAskedRows * kRowBytes;
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t stamps[2 * kRounds];
  const uint32_t tile = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(&barrier);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
#pragma unroll 1
  for (uint32_t round = 0; round < kRounds; ++round) {
    if (asks == Asks::elected ? ptx::elect_one() : threadIdx.x == 0) {
      stamp(stamps + 2 * round);
      ptx::mbarrier_arrive_expect_tx(full, count * kBytes);
#pragma unroll
      for (int i = 0; i < count; ++i)
        ptx::tma_load_2d(tile + i * kBytes, &map, full, 0, static_cast<int32_t>(i * kAskedRows));
      stamp(stamps + 2 * round + 1);
    }
    __syncwarp();
    while (!ptx::mbarrier_try_wait_parity(full, round & 1)) {
    }
  }
  write_stamps(out, stamps, 2 * kRounds);
}

template <Asks asks, int count>
void measure_asking(Results& results, const CUtensorMap& map) {
  const auto cycles = stamped_cycles(1, 8, before, [&](uint32_t* out) {
    launch_clusters(ask_for_copies<asks, count>, 1, 1, 32, kMostCopies * 1024 + kAlignment, out,
                    map);
  });
  const std::string parameter = std::string(asks == Asks::elected ? "elected" : "thread 0") +
                                " copies=" + std::to_string(count);
  results.add("start.ask", parameter, "cycles", cycles[7]);
  results.add("start.ask_and_wait", parameter, "cycles", cycles[6] + cycles[7]);
}

// ---- How a CTA begins

constexpr uint32_t kThreads = 384;
enum Begin : int { kBegin, kPrepared, kArrived, kRegisters, kPassed, kBeginStamps };

/// The first warp initialises barriers, all tell the cluster, give or take registers, and wait for
/// the cluster. Twice, the second time without the registers.
__global__ __launch_bounds__(kThreads, 1) void begin_cta(uint32_t* out) {
  constexpr uint32_t kWarps = kThreads / 32, kBarriers = 16;
  __shared__ uint64_t barriers[2 * kBarriers];
  __shared__ uint32_t stamps[2 * 2 * kBeginStamps];
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  const bool is_stamped = threadIdx.x % 32 == 0 && (warp == 0 || warp == 4);
  static_assert(kWarps == 12, "a warpgroup that gives registers, two that take them");
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    uint32_t* const own = stamps + (2 * pass + (warp == 0 ? 0 : 1)) * kBeginStamps;
    if (is_stamped) stamp(own + kBegin);
    if (warp == 0 && threadIdx.x % 32 == 0) {
      for (uint32_t i = 0; i < kBarriers; ++i)
        ptx::mbarrier_init(ptx::shared_address(barriers + pass * kBarriers + i), 1);
      ptx::fence_mbarrier_init();
    }
    __syncwarp();
    if (is_stamped) stamp(own + kPrepared);
    ptx::cluster_arrive_relaxed();
    if (is_stamped) stamp(own + kArrived);
    if (pass == 0) {
      if (warp < 4)
        ptx::decrease_registers<24>();
      else
        ptx::increase_registers<240>();
    }
    if (is_stamped) stamp(own + kRegisters);
    ptx::cluster_wait();
    if (is_stamped) stamp(own + kPassed);
  }
  write_stamps(out, stamps, 2 * 2 * kBeginStamps);
}

void measure_beginning(Results& results, uint32_t ctas, uint32_t cluster) {
  const auto cycles = stamped_cycles(ctas, 4 * kBeginStamps, first_of_all, [&](uint32_t* out) {
    launch_clusters(begin_cta, ctas, cluster, kThreads, 0, out);
  });
  static constexpr std::array<const char*, kBeginStamps> kSteps{"begin", "prepared", "arrived",
                                                                "registers", "passed"};
  for (size_t i = 0; i < cycles.size(); ++i) {
    if (i % kBeginStamps == kBegin) continue;
    results.add("start.begin_cta",
                std::string(kSteps[i % kBeginStamps]) +
                    " role=" + std::to_string(i / kBeginStamps % 2) +
                    " pass=" + std::to_string(i / kBeginStamps / 2) +
                    " ctas=" + std::to_string(ctas) + " cluster=" + std::to_string(cluster),
                "cycles", cycles[i]);
  }
}

// ---- Copies that all ask for at once

constexpr uint32_t kMostBoxes = 8;
constexpr uint32_t kBoxRows = 128;
constexpr uint32_t kBoxBytes = kBoxRows * kRowBytes;
constexpr uint32_t kBurstPasses = 3;

/// Boxes that each CTA reads: its own, those of a GEMM (every other box is shared along rows of
/// CTAs, the others along columns), or the same for all.
enum class Shares : uint32_t { nothing, as_gemm, everything };

/// One thread asks for `boxes` boxes and sees them arrive; another CTA of the SM is never there.
/// Three passes with boxes of their own; only the first begins with the launch.
__global__ void burst(uint32_t* out, const __grid_constant__ CUtensorMap map, uint32_t boxes,
                      Shares shares, uint32_t across) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[kMostBoxes];
  __shared__ uint32_t stamps[kBurstPasses * (kMostBoxes + 2)];
  const uint32_t tile = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  for (uint32_t i = threadIdx.x; i < kBurstPasses * (kMostBoxes + 2); i += blockDim.x)
    stamps[i] = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kMostBoxes; ++i)
      ptx::mbarrier_init(ptx::shared_address(barriers + i), 1);
    ptx::fence_mbarrier_init();
    uint32_t parity = 0;
#pragma unroll 1
    for (uint32_t pass = 0; pass < kBurstPasses; ++pass) {
      uint32_t* const own = stamps + pass * (kMostBoxes + 2);
      stamp(own);
      for (uint32_t i = 0; i < boxes; ++i) {
        uint32_t box = blockIdx.x * boxes + i;
        if (shares == Shares::as_gemm)
          box = i % 2 == 0 ? blockIdx.x / across * boxes + i : blockIdx.x % across * boxes + i;
        if (shares == Shares::everything) box = i;
        const uint32_t full = ptx::shared_address(barriers + i);
        ptx::mbarrier_arrive_expect_tx(full, kBoxBytes);
        ptx::tma_load_2d(tile + i * kBoxBytes, &map, full, static_cast<int32_t>(pass * kRowBytes),
                         static_cast<int32_t>(box * kBoxRows));
      }
      stamp(own + 1);
      for (uint32_t i = 0; i < boxes; ++i) {
        while (!ptx::mbarrier_try_wait_parity(ptx::shared_address(barriers + i), parity)) {
        }
        stamp(own + 2 + i);
      }
      parity ^= 1;
      constexpr uint32_t kPause = 4000;
      uint32_t begin, now;
      asm volatile("mov.u32 %0, %%clock;" : "=r"(begin)::"memory");
      do asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
      while (now - begin < kPause);
    }
  }
  write_stamps(out, stamps, kBurstPasses * (kMostBoxes + 2));
}

void measure_burst(Results& results, const CUtensorMap& map, uint32_t ctas, uint32_t boxes,
                   Shares shares) {
  constexpr size_t kStamps = kBurstPasses * (kMostBoxes + 2);
  constexpr uint32_t kAcross = 12;
  const auto cycles = stamped_cycles(
      ctas, kStamps, [](size_t number) { return number / (kMostBoxes + 2) * (kMostBoxes + 2); },
      [&](uint32_t* out) {
        launch_clusters(burst, ctas, 1, 32, kMostBoxes * kBoxBytes + kAlignment, out, map, boxes,
                        shares, kAcross);
      });
  static constexpr std::array<const char*, 3> kNames{"own", "gemm", "same"};
  for (uint32_t pass = 0; pass < kBurstPasses; ++pass)
    for (const uint32_t box : {0u, boxes - 1})
      results.add("start.burst_" + std::string(kNames[static_cast<size_t>(shares)]),
                  "ctas=" + std::to_string(ctas) + " pass=" + std::to_string(pass) +
                      " box=" + std::to_string(box) + " of " + std::to_string(boxes),
                  "cycles", cycles[pass * (kMostBoxes + 2) + 2 + box]);
}

}  // namespace

void measure_start(Results& results) {
  const uint32_t sms = sm_count();
  measure_roles(results, 1);
  measure_roles(results, sms);
  for (const uint32_t ctas : {1u, sms}) {
    measure_parameters(results, ctas);
    measure_maps(results, ctas);
  }
  measure_beginning(results, sms, 1);
  measure_beginning(results, sms, 2);
  {
    const ByteMatrix matrix(kRowBytes, kAskedRows * kMostCopies);
    const CUtensorMap map = matrix.map(kRowBytes, kAskedRows);
    measure_asking<Asks::elected, 1>(results, map);
    measure_asking<Asks::elected, 2>(results, map);
    measure_asking<Asks::elected, 4>(results, map);
    measure_asking<Asks::thread, 1>(results, map);
    measure_asking<Asks::thread, 2>(results, map);
    measure_asking<Asks::thread, 4>(results, map);
  }
  const ByteMatrix matrix(kBurstPasses * kRowBytes, kBoxRows * kMostBoxes * sms);
  const CUtensorMap map = matrix.map(kRowBytes, kBoxRows);
  for (const uint32_t ctas : {sms / 8 * 3, sms})
    for (const uint32_t boxes : {2u, 4u})
      for (const Shares shares : {Shares::nothing, Shares::as_gemm, Shares::everything})
        measure_burst(results, map, ctas, boxes, shares);
}

}  // namespace bw::timing
