/// \file
/// Effect of code that was never run on warps that take different paths: jumps by one role and by
/// several, on one SM and on all; parameters that an SM reads for the first time, alone and
/// alongside new code; tensor maps that a warp prefetches.

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
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

/// Code that drives other code out, some times over: the first time leaves some of it.
template <uint32_t kib>
__global__ void other_rounds(uint32_t rounds, float a, float* sink) {
  float sums[kChains];
  begin_sums(sums, a);
#pragma unroll 1
  for (uint32_t round = 0; round < rounds; ++round)
    straight<kib * 1024 / kInstructionBytes>(sums, a, 0.5f);
  keep_sums(sums, sink);
}

void run_other_code() {
  const uint32_t rounds = is_simulated() ? 1 : 10;
  other_rounds<64><<<sm_count(), 32>>>(rounds, 1, nullptr);
}

/// Of stamps that a CTA leaves the differences of neighbours, see least_medians.
std::vector<double> steps_of(size_t ctas, size_t count,
                             const std::function<void(uint32_t*)>& launch) {
  return least_medians<uint32_t>(
      ctas, count, count, is_simulated() ? 2 : 9,
      [&](uint32_t* stamps) {
        run_other_code();
        launch(stamps);
      },
      [](const uint32_t* stamps, size_t number) -> std::optional<double> {
        if (number == 0) return 0;
        return static_cast<int32_t>(stamps[number] - stamps[number - 1]);
      });
}

// ---- Jumps

constexpr int kHops = 12;
constexpr uint32_t kMostWarps = 12;
constexpr uint32_t kPassStamps = kHops + 1;
constexpr uint32_t kPasses = 2;

/// Passes over blocks of code; `b` is another number for each role.
template <uint32_t bytes>
__device__ __forceinline__ void hop_over(uint32_t* stamps, uint32_t taken, float (&sums)[kChains],
                                         float a, float b) {
#pragma unroll
  for (int hop = 0; hop < kHops; ++hop) {
    stamp(stamps + hop);
    if ((taken >> hop & 1) != 0) straight<bytes / kInstructionBytes>(sums, a, b);
  }
  stamp(stamps + kHops);
}

/// Roles of some warps each, every one with blocks of its own, twice.
template <uint32_t bytes>
__global__ void jumps(uint32_t* out, uint32_t taken, uint32_t warps_a_role, float a, float* sink) {
  __shared__ uint32_t stamps[kMostWarps * kPasses * kPassStamps];
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  const uint32_t role = warp / warps_a_role;
  float sums[kChains];
  begin_sums(sums, a);
#pragma unroll 1
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    __syncthreads();
    uint32_t* const own = stamps + (warp * kPasses + pass) * kPassStamps;
    if (role == 0)
      hop_over<bytes>(own, taken, sums, a, 2.0f);
    else if (role == 1)
      hop_over<bytes>(own, taken, sums, a, 3.0f);
    else
      hop_over<bytes>(own, taken, sums, a, 4.0f);
  }
  keep_sums(sums, sink);
  write_stamps(out, stamps, blockDim.x / 32 * kPasses * kPassStamps);
}

template <uint32_t bytes>
void measure_roles(Results& results, uint32_t ctas, uint32_t roles, uint32_t warps) {
  const uint32_t all_warps = roles * warps;
  const auto steps = steps_of(ctas, all_warps * kPasses * kPassStamps, [&](uint32_t* out) {
    launch_clusters(jumps<bytes>, ctas, 1, all_warps * 32, kWholeSm, out, 0u, warps, 1.0f, nullptr);
  });
  // The average of jumps while all roles are active; the first ones find the pass's beginning.
  constexpr uint32_t kFrom = 3, kTo = 9;
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    double sum = 0;
    for (uint32_t role = 0; role < roles; ++role)
      for (uint32_t hop = kFrom; hop < kTo; ++hop)
        sum += steps[(role * warps * kPasses + pass) * kPassStamps + hop];
    results.add(pass == 0 ? "jumps.new" : "jumps.near",
                "bytes=" + std::to_string(bytes) + " roles=" + std::to_string(roles) +
                    " warps=" + std::to_string(warps) + " ctas=" + std::to_string(ctas),
                "cycles", sum / (roles * (kTo - kFrom)));
  }
}

template <uint32_t bytes>
void measure_all_jumps(Results& results) {
  for (const uint32_t ctas : {1u, sm_count()}) {
    // Of little code some is left on an SM that runs alone.
    if (bytes <= 512 && ctas == 1) continue;
    measure_roles<bytes>(results, ctas, 1, 1);
    measure_roles<bytes>(results, ctas, 2, 1);
    measure_roles<bytes>(results, ctas, 3, 4);
  }
}

// ---- Parameters

constexpr uint32_t kParameterWords = 600;
struct Parameters {
  std::array<uint32_t, kParameterWords> words;
};
constexpr int kReads = 10;
constexpr uint32_t kReadStamps = 2 * kReads;

/// What the value of a parameter decides: a branch or a store.
enum class Decides { branch, store };

/// The first warp reads parameters, with pauses in which its code arrives. Meanwhile the others
/// execute new code: each as much as fits into the pauses.
template <uint32_t apart, Decides decides>
__global__ void read_parameters(uint32_t* out, const __grid_constant__ Parameters given, float a,
                                float* sink) {
  constexpr uint32_t kPause = 1500;
  __shared__ uint32_t stamps[kReadStamps];
  float sums[kChains];
  begin_sums(sums, a);
  const uint32_t warp = __shfl_sync(0xffff'ffff, threadIdx.x / 32, 0);
  const auto wait_until = [](uint32_t time) {
    while (static_cast<int32_t>(clock_now() - time) < 0) {
    }
  };
  if (warp == 0) {
    const uint32_t began = clock_now();
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      wait_until(began + i * kPause + kPause / 2);
      wait_until(began + (i + 1) * kPause);
      stamp(stamps + 2 * i);
      const uint32_t value = given.words[8 + i * apart];  // 0, unknown to the compiler
      if constexpr (decides == Decides::store) {
        if (value != 0) *sink = 1.0f;
      } else if (value != 0) {
        stamp(stamps + 2 * i);
        straight<12>(sums, a, 2.0f);
      }
      stamp(stamps + 2 * i + 1);
    }
  } else if (warp == 1) {
    straight<65536 / kInstructionBytes>(sums, a, 3.0f);
  } else if (warp == 2) {
    straight<65536 / kInstructionBytes>(sums, a, 4.0f);
  } else {
    straight<65536 / kInstructionBytes>(sums, a, 5.0f);
  }
  keep_sums(sums, sink);
  write_stamps(out, stamps, kReadStamps);
}

template <uint32_t apart, Decides decides>
void measure_parameters(Results& results, uint32_t ctas, uint32_t others) {
  const auto steps = steps_of(ctas, kReadStamps, [&](uint32_t* out) {
    launch_clusters(read_parameters<apart, decides>, ctas, 1, 32 * (1 + others), kWholeSm, out,
                    Parameters{}, 1.0f, nullptr);
  });
  std::vector<double> reads;
  for (int i = 2; i < kReads; ++i) reads.push_back(steps[2 * i + 1]);
  results.add("jumps.parameter",
              std::string(decides == Decides::branch ? "for a branch" : "for a store") +
                  " bytes_apart=" + std::to_string(4 * apart) +
                  " beside=" + std::to_string(others) + " ctas=" + std::to_string(ctas),
              "cycles", std::accumulate(reads.begin(), reads.end(), 0.0) / reads.size());
}

// ---- Tensor maps

constexpr int kMaps = 6;
struct Maps {
  CUtensorMap maps[kMaps];
};
constexpr uint32_t kMapPasses = 3;

/// An elected lane prefetches `count` maps; the first time they and the code are new.
template <int count>
__global__ void prefetch_maps(uint32_t* out, const __grid_constant__ Maps maps) {
  __shared__ uint32_t stamps[2 * kMapPasses];
#pragma unroll 1
  for (uint32_t pass = 0; pass < kMapPasses; ++pass) {
    __syncwarp();
    const uint32_t pause = clock_now();
    while (clock_now() - pause < 1500) {
    }
    stamp(stamps + 2 * pass);
    if (ptx::elect_one()) {
#pragma unroll
      for (int i = 0; i < count; ++i) ptx::prefetch_tensormap(&maps.maps[i]);
    }
    __syncwarp();
    stamp(stamps + 2 * pass + 1);
  }
  write_stamps(out, stamps, 2 * kMapPasses);
}

template <int count>
void measure_prefetches(Results& results, uint32_t ctas) {
  const ByteMatrix matrix(128, 128);
  Maps maps{};
  for (CUtensorMap& map : maps.maps) map = matrix.map(128, 16);
  const auto steps = steps_of(ctas, 2 * kMapPasses, [&](uint32_t* out) {
    launch_clusters(prefetch_maps<count>, ctas, 1, 32, kWholeSm, out, maps);
  });
  const std::string parameter = "maps=" + std::to_string(count) + " ctas=" + std::to_string(ctas);
  results.add("jumps.prefetch_maps", parameter, "cycles", steps[1]);
  results.add("jumps.prefetch_maps_again", parameter, "cycles", steps[2 * kMapPasses - 1]);
}

}  // namespace

void measure_jumps(Results& results) {
  measure_all_jumps<512>(results);
  measure_all_jumps<1024>(results);
  measure_all_jumps<2048>(results);
  for (const uint32_t ctas : {1u, sm_count()}) {
    for (const uint32_t others : {0u, 1u, 3u}) {
      measure_parameters<16, Decides::branch>(results, ctas, others);
      measure_parameters<16, Decides::store>(results, ctas, others);
    }
    measure_parameters<8, Decides::branch>(results, ctas, 0);
    measure_prefetches<1>(results, ctas);
    measure_prefetches<2>(results, ctas);
    measure_prefetches<4>(results, ctas);
    measure_prefetches<6>(results, ctas);
  }
}

}  // namespace bw::timing
