/// \file
/// New code for several SMs at once: warps that take different paths, SMs of one GPC or of several,
/// one SM after another, programs that run in turn; and how a CTA of a pipelined GEMM begins.

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
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

constexpr uint32_t kWholeSm = 200 * 1024;  // bytes of shared memory: one CTA an SM

__device__ __forceinline__ uint32_t sm_number() {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// ---- Paths

/// SMs by their numbers.
struct SmSet {
  std::array<uint32_t, 8> words{};
  void add(uint32_t sm) { words[sm / 32] |= 1u << sm % 32; }
};

constexpr uint32_t kMostPaths = 4;
constexpr uint32_t kMostWarps = 12;
constexpr uint32_t kParts = 4;  // of a path, 1 KiB each
constexpr uint32_t kPathStamps = kParts + 1;
constexpr uint32_t kCtaWords = 1 + kMostWarps * kPathStamps;  // the SM's number, then the warps'

struct Paths {
  SmSet sms;              ///< that take part
  uint32_t warps_a_path;  ///< neighbours take one path
};

template <uint32_t path>
__device__ __forceinline__ void take_path(float (&sums)[kChains], float a, uint32_t* stamps) {
#pragma unroll
  for (uint32_t part = 0; part < kParts; ++part) {
    straight<1024 / kInstructionBytes>(sums, a, 1.0f + path);
    stamp(stamps + part);
  }
}

/// Warps of those SMs take paths of 4 KiB, all at one time of the clock, which the SMs of a GPC
/// share.
__global__ void take_paths(uint32_t* out, const __grid_constant__ Paths paths, float a,
                           float* sink) {
  constexpr uint32_t kTogether = 1 << 15;  // cycles between two times at which they may begin
  __shared__ uint32_t stamps[kMostWarps * kPathStamps];
  const uint32_t sm = sm_number();
  uint32_t* const row = out + blockIdx.x * kCtaWords;
  if ((paths.sms.words[sm / 32] >> sm % 32 & 1) == 0) return;
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  const uint32_t path = warp / paths.warps_a_path;
  uint32_t* const own = stamps + warp * kPathStamps;
  float sums[kChains];
  begin_sums(sums, a);
  // The first pass finds the table of the branch's targets.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const uint32_t begin = (clock_now() / kTogether + 1) * kTogether;
    while (pass == 1 && static_cast<int32_t>(clock_now() - begin) < 0) {
    }
    if (pass == 1) stamp(own);
    switch (pass == 0 ? kMostPaths : path) {
      case 0:
        take_path<0>(sums, a, own + 1);
        break;
      case 1:
        take_path<1>(sums, a, own + 1);
        break;
      case 2:
        take_path<2>(sums, a, own + 1);
        break;
      case 3:
        take_path<3>(sums, a, own + 1);
        break;
      default:
        break;
    }
  }
  keep_sums(sums, sink);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < blockDim.x / 32 * kPathStamps; i += blockDim.x)
    row[1 + i] = stamps[i];
  if (threadIdx.x == 0) row[0] = sm + 1;
}

void run_other_code() { other_code<512><<<sm_count(), 32>>>(1, nullptr); }

/// Cycles of an SM's paths, medians of the SMs that run after other code.
struct PathTimes {
  std::array<double, kParts> last, first;  ///< to the end of each part
};

PathTimes time_paths(const Paths& paths, uint32_t ctas, uint32_t count) {
  const uint32_t warps = count * paths.warps_a_path;
  const auto cycles = least_medians<uint32_t>(
      ctas, kCtaWords, 2 * kParts, is_simulated() ? 2 : 9,
      [&](uint32_t* out) {
        run_other_code();
        launch_clusters(take_paths, ctas, 1, 32 * warps, kWholeSm, out, paths, 1.0f, nullptr);
      },
      [&](const uint32_t* row, size_t number) -> std::optional<double> {
        if (row[0] == 0) return std::nullopt;  // the SM did not take part
        const auto stamp_of = [&](uint32_t warp, size_t stamp) {
          return row[1 + warp * kPathStamps + stamp];
        };
        uint32_t begin = stamp_of(0, 0);
        for (uint32_t warp = 1; warp < warps; ++warp)
          if (static_cast<int32_t>(stamp_of(warp, 0) - begin) < 0) begin = stamp_of(warp, 0);
        uint32_t last = 0, first = ~0u;
        for (uint32_t warp = 0; warp < warps; ++warp) {
          const uint32_t one = stamp_of(warp, 1 + number % kParts) - begin;
          last = std::max(last, one);
          first = std::min(first, one);
        }
        return number < kParts ? last : first;
      });
  PathTimes times;
  std::copy_n(cycles.begin(), kParts, times.last.begin());
  std::copy_n(cycles.begin() + kParts, kParts, times.first.begin());
  return times;
}

void measure_paths(Results& results) {
  SmSet half, all;
  for (uint32_t sm = 0; sm < sm_count(); ++sm) {
    all.add(sm);
    if (sm % 2 == 0) half.add(sm);
  }
  for (const auto& [where, sms, ctas] :
       {std::tuple{"1", all, 1u}, std::tuple{"half", half, sm_count()},
        std::tuple{"all", all, sm_count()}}) {
    for (const auto& [count, warps] : {std::pair{1u, 1u}, std::pair{1u, 4u}, std::pair{2u, 1u},
                                       std::pair{3u, 1u}, std::pair{3u, 4u}, std::pair{4u, 1u}}) {
      const PathTimes times = time_paths({.sms = sms, .warps_a_path = warps}, ctas, count);
      const std::string parameter =
          "paths=" + std::to_string(count) + " warps=" + std::to_string(warps) + " sms=" + where;
      for (const uint32_t kib : {2u, 4u})
        results.add("new_code.last_path", parameter + " kib=" + std::to_string(kib), "cycles",
                    times.last[kib - 1]);
      if (count > 1)
        results.add("new_code.first_path", parameter + " kib=4", "cycles", times.first[3]);
    }
  }
}

// ---- Programs that run in turn

constexpr uint32_t kProgramKib = 16;

template <uint32_t number>
__global__ void program(uint32_t* out, float a, float* sink) {
  float sums[kChains];
  begin_sums(sums, a);
  const uint32_t begin = clock_now();
  straight<kProgramKib * 1024 / kInstructionBytes>(sums, a, 20.0f + number);
  const uint32_t end = clock_now();
  keep_sums(sums, sink);
  out[blockIdx.x] = end - begin;
}

template <size_t... numbers>
constexpr auto all_programs(std::index_sequence<numbers...>) {
  return std::array{&program<numbers>...};
}

void measure_programs(Results& results, uint32_t ctas) {
  constexpr size_t kPrograms = 8;
  constexpr auto kAll = all_programs(std::make_index_sequence<kPrograms>());
  DeviceBuffer<uint32_t> out(ctas);
  for (const size_t count : {1, 2, 3, 8}) {
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < (is_simulated() ? 2 : 6); ++round) {
      for (size_t i = 0; i < count; ++i) {
        kAll[i]<<<ctas, 32>>>(out.data(), 1.0f, nullptr);
        check_cuda(cudaDeviceSynchronize(), "finish a measurement");
        std::vector<uint32_t> all = out.download();
        std::sort(all.begin(), all.end());
        if (i == count / 2 && round > 0) least = std::min(least, 1.0 * all[ctas / 2]);
      }
    }
    results.add("new_code.programs_in_turn",
                "kib=16 programs=" + std::to_string(count) + " ctas=" + std::to_string(ctas),
                "cycles", least);
  }
}

constexpr int kMaps = 3;
struct Maps {
  CUtensorMap maps[kMaps];
};

// ---- Single steps of a CTA's beginning

enum class Step {
  nothing,
  store_by_elected,
  store_by_thread_0,
  one_barrier,
  eight_barriers,
  barrier_without_fence,
  prefetch_1,
  prefetch_3,
  prefetch_3_by_thread_0,
  arrive_cluster,
  arrive_and_wait_cluster,
  arrive_and_wait_cluster_relaxed,
  warp_number,
  sync_warp,
  two_elected_branches,
};
constexpr int kSteps = 15;
constexpr std::array<const char*, kSteps> kStepNames{"nothing",
                                                     "store by elected",
                                                     "store by thread 0",
                                                     "one barrier",
                                                     "eight barriers",
                                                     "barrier without fence",
                                                     "prefetch of a map",
                                                     "prefetch of 3 maps",
                                                     "prefetch of 3 maps by thread 0",
                                                     "arrive cluster",
                                                     "arrive and wait cluster",
                                                     "arrive relaxed and wait cluster",
                                                     "warp number",
                                                     "sync warp",

                                                     "two elected branches"};
constexpr int kStepPasses = 6;
constexpr int kStepStamps = 3;

/// One step, again and again.
template <Step step>
__global__ void take_step(uint32_t* out, const __grid_constant__ Maps maps, uint32_t warps_more) {
  __shared__ uint64_t barriers[8];
  __shared__ uint32_t words[4];
  __shared__ uint32_t stamps[kStepPasses * kStepStamps];
  for (uint32_t i = threadIdx.x; i < kStepPasses * kStepStamps; i += 32) stamps[i] = 0;
  uint32_t sum = 0;
  ptx::cluster_arrive();
  ptx::cluster_wait();
#pragma unroll 1
  for (int pass = 0; pass < kStepPasses; ++pass) {
    uint32_t* const own = stamps + pass * kStepStamps;
    __syncwarp();
    const uint32_t pause = clock_now();
    while (clock_now() - pause < 1000) {
    }
    stamp(own);
    if constexpr (step == Step::store_by_elected) {
      if (ptx::elect_one())
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(ptx::shared_address(words)), "r"(pass)
                     : "memory");
    } else if constexpr (step == Step::store_by_thread_0) {
      if (threadIdx.x == 0)
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(ptx::shared_address(words)), "r"(pass)
                     : "memory");
    } else if constexpr (step == Step::one_barrier) {
      if (ptx::elect_one()) {
        ptx::mbarrier_init(ptx::shared_address(barriers), 1);
        ptx::fence_mbarrier_init();
      }
    } else if constexpr (step == Step::eight_barriers) {
      if (ptx::elect_one()) {
#pragma unroll
        for (int i = 0; i < 8; ++i) ptx::mbarrier_init(ptx::shared_address(barriers + i), 1);
        ptx::fence_mbarrier_init();
      }
    } else if constexpr (step == Step::barrier_without_fence) {
      if (ptx::elect_one()) ptx::mbarrier_init(ptx::shared_address(barriers), 1);
    } else if constexpr (step == Step::prefetch_1) {
      if (ptx::elect_one()) ptx::prefetch_tensormap(&maps.maps[0]);
    } else if constexpr (step == Step::prefetch_3) {
      if (ptx::elect_one())
        for (const CUtensorMap& map : maps.maps) ptx::prefetch_tensormap(&map);
    } else if constexpr (step == Step::prefetch_3_by_thread_0) {
      if (threadIdx.x == 0)
        for (const CUtensorMap& map : maps.maps) ptx::prefetch_tensormap(&map);
    } else if constexpr (step == Step::arrive_cluster) {
      ptx::cluster_arrive_relaxed();
      stamp(own + 1);
      ptx::cluster_wait();
    } else if constexpr (step == Step::arrive_and_wait_cluster) {
      ptx::cluster_arrive();
      ptx::cluster_wait();
    } else if constexpr (step == Step::arrive_and_wait_cluster_relaxed) {
      ptx::cluster_arrive_relaxed();
      ptx::cluster_wait();
    } else if constexpr (step == Step::warp_number) {
      sum += __shfl_sync(0xffff'ffff, threadIdx.x / 32 + sum, 0);
      if (sum != 0) words[1] = sum;
    } else if constexpr (step == Step::sync_warp) {
      __syncwarp();
    } else if constexpr (step == Step::two_elected_branches) {
      if (warps_more != 1 && ptx::elect_one())
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(ptx::shared_address(words)), "r"(pass)
                     : "memory");
      if (warps_more != 2 && ptx::elect_one())
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(ptx::shared_address(words + 1)), "r"(pass)
                     : "memory");
    }
    stamp(own + 2);
    constexpr bool is_one = step == Step::one_barrier || step == Step::barrier_without_fence;
    __syncwarp();
    if constexpr (is_one || step == Step::eight_barriers)
      if (threadIdx.x < (is_one ? 1 : 8))
        ptx::mbarrier_inval(ptx::shared_address(barriers + threadIdx.x));
  }
  __syncwarp();
  for (uint32_t i = threadIdx.x; i < kStepPasses * kStepStamps; i += 32) out[i] = stamps[i];
}

template <Step step>
void measure_step(Results& results, uint32_t cluster) {
  const ByteMatrix matrix(128, 128);
  Maps maps{};
  for (CUtensorMap& map : maps.maps) map = matrix.map(128, 16);
  DeviceBuffer<uint32_t> out(kStepPasses * kStepStamps);
  double least = std::numeric_limits<double>::max(), middle = least;
  for (int i = 0; i < (is_simulated() ? 1 : 7); ++i) {
    run_other_code();
    launch_clusters(take_step<step>, cluster, cluster, 32, 0, out.data(), maps, 0u);
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    const std::vector<uint32_t> all = out.download();
    const uint32_t* const last = all.data() + (kStepPasses - 1) * kStepStamps;
    least = std::min(least, 1.0 * (last[2] - last[0]));
    middle = std::min(middle, 1.0 * (last[1] - last[0]));
  }
  const std::string name =
      kStepNames[static_cast<size_t>(step)] + (" cluster=" + std::to_string(cluster));
  results.add("new_code.step", name, "cycles", least);
  if (step == Step::arrive_cluster)
    results.add("new_code.step", "told cluster=" + std::to_string(cluster), "cycles", middle);
}

template <size_t... numbers>
void measure_all_steps(Results& results, std::index_sequence<numbers...>) {
  (measure_step<static_cast<Step>(numbers)>(results, 1), ...);
  measure_step<Step::arrive_cluster>(results, 2);
  measure_step<Step::arrive_and_wait_cluster_relaxed>(results, 2);
}

/// Warpgroups release registers and claim them, repeatedly; a claim waits for a release.
__global__ void __launch_bounds__(384, 1) give_and_take(uint32_t* out, uint32_t late) {
  __shared__ uint32_t stamps[12 * 2];
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  __syncthreads();
  const uint32_t pause = clock_now();
  const uint32_t until = (warp < 4) == (late == 0) ? 500 : 3000;
  while (clock_now() - pause < until) {
  }
  stamp(stamps + 2 * warp);
  if (warp < 4)
    ptx::decrease_registers<24>();
  else
    ptx::increase_registers<240>();
  stamp(stamps + 2 * warp + 1);
  __syncthreads();
  if (threadIdx.x < 24) out[threadIdx.x] = stamps[threadIdx.x];
}

void measure_registers(Results& results) {
  DeviceBuffer<uint32_t> out(24);
  for (const uint32_t late : {0u, 1u}) {
    std::array<double, 2> least;
    least.fill(std::numeric_limits<double>::max());
    double after = least[0];
    for (int i = 0; i < (is_simulated() ? 1 : 7); ++i) {
      give_and_take<<<1, 384>>>(out.data(), late);
      check_cuda(cudaDeviceSynchronize(), "finish a measurement");
      const std::vector<uint32_t> all = out.download();
      uint32_t given = all[0];
      for (uint32_t warp = 1; warp < 4; ++warp)
        if (static_cast<int32_t>(all[2 * warp] - given) > 0) given = all[2 * warp];
      least[0] = std::min(least[0], 1.0 * (all[3] - all[2]));
      least[1] = std::min(least[1], 1.0 * (all[9] - all[8]));
      after = std::min(after, 1.0 * static_cast<int32_t>(all[9] - given));
    }
    const std::string when = late == 0 ? "given before" : "given while others wait";
    results.add("new_code.step", "give registers " + when, "cycles", least[0]);
    results.add("new_code.step", "take registers " + when, "cycles", late == 0 ? least[1] : after);
  }
}

// ---- How a CTA of a pipelined GEMM begins

constexpr uint32_t kThreads = 384;
enum Begin : int {
  kEntered,
  kWarpKnown,
  kMapsPrefetched,
  kRingReady,
  kSlotsReady,
  kTold,
  kRegisters,
  kPassed,
  kBeginStamps
};
constexpr uint32_t kBeginWords = kThreads / 32 * kBeginStamps + 1;  // the last: which CTA it is

/// As chapter 6's kernel begins: one warp prefetches maps, three initialise barriers, all tell the
/// cluster, give or take registers, and wait for the cluster.
__global__ __launch_bounds__(kThreads, 1) void begin_gemm(uint32_t* out,
                                                          const __grid_constant__ Maps maps,
                                                          uint32_t lasts) {
  constexpr uint32_t kRing = 12, kSlots = 6;
  __shared__ uint64_t barriers[kRing + 2 * kSlots];
  __shared__ uint32_t stamps[kBeginWords];
  const uint32_t entered = clock_now();
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  uint32_t* const own = stamps + warp * kBeginStamps;
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(ptx::shared_address(own)), "r"(entered) : "memory");
  stamp(own + kWarpKnown);
  if (warp == 0 && ptx::elect_one())
    for (const CUtensorMap& map : maps.maps) ptx::prefetch_tensormap(&map);
  stamp(own + kMapsPrefetched);
  if (warp == 3 && ptx::elect_one()) {
#pragma unroll
    for (uint32_t i = 0; i < kRing; ++i) ptx::mbarrier_init(ptx::shared_address(barriers + i), 1);
    ptx::fence_mbarrier_init();
  }
  stamp(own + kRingReady);
  if (warp - 1 < 2 && ptx::elect_one()) {
    uint64_t* const slots = barriers + kRing + (warp - 1) * kSlots;
#pragma unroll
    for (uint32_t i = 0; i < kSlots; ++i) ptx::mbarrier_init(ptx::shared_address(slots + i), 1);
    ptx::fence_mbarrier_init();
  }
  stamp(own + kSlotsReady);
  __syncwarp();
  ptx::cluster_arrive_relaxed();
  stamp(own + kTold);
  if (warp < 4)
    ptx::decrease_registers<24>();
  else
    ptx::increase_registers<240>();
  stamp(own + kRegisters);
  ptx::cluster_wait();
  stamp(own + kPassed);
  const uint32_t begin = clock_now();
  while (clock_now() - begin < lasts) {
  }
  if (threadIdx.x == 0) stamps[kBeginWords - 1] = blockIdx.x;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kBeginWords; i += kThreads)
    out[blockIdx.x * kBeginWords + i] = stamps[i];
}

void measure_begin(Results& results) {
  const uint32_t sms = sm_count(), waves = 3, ctas = waves * sms;
  const ByteMatrix matrix(128, 128);
  Maps maps{};
  for (CUtensorMap& map : maps.maps) map = matrix.map(128, 16);
  static constexpr std::array<const char*, kBeginStamps> kBegins{
      "entered", "warp", "maps", "ring", "slots", "told", "registers", "passed"};
  for (const uint32_t wave : {0u, waves - 1}) {
    const auto cycles = least_medians<uint32_t>(
        ctas, kBeginWords, kBeginWords, is_simulated() ? 2 : 9,
        [&](uint32_t* out) {
          run_other_code();
          launch_clusters(begin_gemm, ctas, 1, kThreads, kWholeSm, out, maps, 5000u);
        },
        [&](const uint32_t* row, size_t word) -> std::optional<double> {
          if (row[kBeginWords - 1] / sms != wave) return std::nullopt;
          uint32_t begin = row[0];
          for (uint32_t warp = 1; warp < kThreads / 32; ++warp)
            if (static_cast<int32_t>(row[warp * kBeginStamps] - begin) < 0)
              begin = row[warp * kBeginStamps];
          return row[word] - begin;
        });
    for (const uint32_t warp : {0u, 3u, 4u})
      for (uint32_t step = kWarpKnown; step < kBeginStamps; ++step)
        results.add("new_code.begin_gemm",
                    std::string(kBegins[step]) + " warp=" + std::to_string(warp) +
                        " wave=" + std::to_string(wave),
                    "cycles", cycles[warp * kBeginStamps + step]);
  }
}

}  // namespace

void measure_new_code(Results& results) {
  const uint32_t sms = sm_count();
  measure_paths(results);
  measure_programs(results, 1);
  measure_programs(results, sms);
  measure_all_steps(results, std::make_index_sequence<kSteps>());
  measure_registers(results);
  measure_begin(results);
}

}  // namespace bw::timing
