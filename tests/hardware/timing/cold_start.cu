/// \file
/// Start of a kernel whose code is in no cache near the SMs: code that is far from the kernel's
/// beginning, and roles that read parameters while all of them fetch code.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/new_code.cuh"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/spans.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kWholeSm = 180 * 1024;  // bytes of shared memory: one CTA an SM
constexpr uint32_t kWarpThreads = 32;
constexpr uint32_t kWarps = 12;
constexpr uint32_t kStamps = 2 + kWarps;  // one for each warp, and the ends of two paths

/// One of some programs of 64 KiB, run twice by warps on every scheduler.
template <int program>
__global__ void other_program(float a, float* sink) {
  constexpr uint32_t kBytes = 64 * 1024;
  float sums[kChains];
  begin_sums(sums, a);
#pragma unroll 1
  for (int round = 0; round < 2; ++round)
    straight<kBytes / kInstructionBytes>(sums, a, 0.5f + program);
  keep_sums(sums, sink);
}

/// Half a megabyte of other programs, twice: after less than that a GPU keeps some of a kernel
/// that ran before. In the simulator some of them suffice, with one warp on each SM.
void run_other_programs() {
  const uint32_t threads = (is_simulated() ? 1 : 4) * kWarpThreads;
  const auto run = [&]<int... programs>(std::integer_sequence<int, programs...>) {
    (other_program<programs><<<sm_count(), threads>>>(1, nullptr), ...);
  };
  if (is_simulated()) return run(std::make_integer_sequence<int, 3>());
  for (int round = 0; round < 2; ++round) run(std::make_integer_sequence<int, 8>());
}

/// Of what CTAs have stamped `count` numbers, see least_medians: each from the first stamp of a
/// warp to the end of a path.
template <class Launch>
std::vector<double> cold_paths(size_t ctas, const std::vector<std::pair<uint32_t, uint32_t>>& spans,
                               const Launch& launch) {
  return least_medians<uint32_t>(
      ctas, kStamps, spans.size(), is_simulated() ? 1 : 9,
      [&](uint32_t* stamps) {
        run_other_programs();
        launch(stamps);
      },
      [&](const uint32_t* stamps, size_t number) -> std::optional<double> {
        const auto [begin, end] = spans[number];
        return static_cast<int32_t>(stamps[end] - stamps[begin]);
      });
}

/// A path of `lines` lines of code, each with eight instructions that wait for each other.
template <uint32_t lines>
__device__ __forceinline__ void slow_lines(float& sum, float a, float b) {
  constexpr uint32_t kLineInstructions = 128 / kInstructionBytes;
#pragma unroll
  for (uint32_t i = 0; i < lines * kLineInstructions; ++i)
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(sum) : "f"(a), "f"(b));
}

/// Threads of a CTA: the stamps of its warps and of `paths` paths become row blockIdx.x of `out`.
__device__ __forceinline__ void write_paths(uint32_t* out, const uint32_t* stamps, uint32_t paths) {
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kWarps + paths; i += blockDim.x)
    if (i < blockDim.x / kWarpThreads || i >= kWarps) out[blockIdx.x * kStamps + i] = stamps[i];
}

// ---- Code far from the kernel's beginning

/// One warp, which jumps over `kib` KiB of code and goes on for 2 KiB.
template <uint32_t kib>
__global__ void far_code(uint32_t* out, uint32_t warps, float a, float* sink) {
  __shared__ uint32_t stamps[kStamps];
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / kWarpThreads, 0);
  float sums[kChains];
  begin_sums(sums, a);
  stamp(stamps + warp);
  if (warp >= warps) {  // no warp
    straight<kib * 1024 / kInstructionBytes>(sums, a, 2.0f);
  } else {
    slow_lines<16>(sums[0], a, 3.0f);
    stamp(stamps + kWarps);
  }
  keep_sums(sums, sink);
  write_paths(out, stamps, 1);
}

template <uint32_t kib>
void measure_far_code(Results& results, uint32_t ctas) {
  const auto cycles = cold_paths(ctas, {{0, kWarps}}, [&](uint32_t* out) {
    launch_clusters(far_code<kib>, ctas, 1, kWarpThreads, kWholeSm, out, 1u, 1.0f, nullptr);
  });
  results.add("cold_start.far_code", "kib=" + std::to_string(kib) + " ctas=" + std::to_string(ctas),
              "cycles", cycles[0]);
}

// ---- Roles that read parameters

constexpr uint32_t kFirstOfMany = 4;  // the first warp of the role that has eight
constexpr uint32_t kParameterWords = 420;
struct Parameters {
  std::array<uint32_t, kParameterWords> words;
};

/// Reads a parameter, 0, which the compiler does not know, and waits for it.
template <uint32_t word>
__device__ __forceinline__ void read_parameter(const Parameters& given, float* sink) {
  if (given.words[word] != 0) *sink = 1.0f;
}

/// Warp 0 has a path with three parameters; with `roles` above 1 warps 4 to 11 have another one,
/// with two, and above 2 warps 1 and 2 one without. Each parameter has a line of its own.
__global__ void cold_roles(uint32_t* out, const __grid_constant__ Parameters given, uint32_t roles,
                           float a, float* sink) {
  __shared__ uint32_t stamps[kStamps];
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / kWarpThreads, 0);
  float sums[kChains];
  begin_sums(sums, a);
  stamp(stamps + warp);
  slow_lines<8>(sums[0], a, 7.0f);
  if (warp >= kFirstOfMany) {
    if (roles > 1) {
      slow_lines<6>(sums[0], a, 2.0f);
      read_parameter<104>(given, sink);
      slow_lines<3>(sums[0], a, 2.0f);
      read_parameter<200>(given, sink);
      slow_lines<13>(sums[0], a, 2.0f);
      if (warp == kFirstOfMany) stamp(stamps + kWarps + 1);
    }
  } else if (warp == 0) {
    slow_lines<2>(sums[0], a, 5.0f);
    read_parameter<300>(given, sink);
    slow_lines<2>(sums[0], a, 5.0f);
    read_parameter<60>(given, sink);
    slow_lines<5>(sums[0], a, 5.0f);
    read_parameter<260>(given, sink);
    slow_lines<7>(sums[0], a, 5.0f);
    stamp(stamps + kWarps);
  } else if (warp != kFirstOfMany - 1 && roles > 2) {
    straight<160>(sums, a, 6.0f);
  }
  keep_sums(sums, sink);
  write_paths(out, stamps, roles > 1 ? 2 : 1);
}

void measure_roles(Results& results, uint32_t ctas, uint32_t roles) {
  const auto cycles =
      cold_paths(ctas, {{0, kWarps}, {kFirstOfMany, kWarps + 1}}, [&](uint32_t* out) {
        launch_clusters(cold_roles, ctas, 2, kWarps * kWarpThreads, kWholeSm, out, Parameters{},
                        roles, 1.0f, nullptr);
      });
  const std::string of = " roles=" + std::to_string(roles) + " ctas=" + std::to_string(ctas);
  results.add("cold_start.path", "parameters=3" + of, "cycles", cycles[0]);
  if (roles > 1) results.add("cold_start.path", "parameters=2" + of, "cycles", cycles[1]);
}

}  // namespace

void measure_cold_start(Results& results) {
  for (const uint32_t ctas : {1u, sm_count()}) {
    measure_far_code<4>(results, ctas);
    measure_far_code<16>(results, ctas);
    measure_far_code<24>(results, ctas);
    measure_far_code<32>(results, ctas);
    measure_far_code<48>(results, ctas);
    measure_far_code<96>(results, ctas);
  }
  constexpr uint32_t kFew = 48;
  for (const uint32_t ctas : {kFew, sm_count()})
    for (const uint32_t roles : {1u, 2u, 3u}) measure_roles(results, ctas, roles);
}

}  // namespace bw::timing
