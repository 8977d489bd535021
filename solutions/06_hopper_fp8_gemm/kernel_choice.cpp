/// \file
/// Which configuration a shape gets.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/host/ceil_div.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {
namespace {

/// Rounds of clusters that the busiest multiprocessor sees, and the K blocks that it walks one
/// after the other.
struct Walk {
  double rounds;
  double blocks;
};

Walk walk_of(const GemmTraits& t, int64_t m, int64_t n, int64_t k, int multiprocessors) {
  const int64_t clusters = ceil_div(m, t.cluster_rows()) * ceil_div(n, t.cluster_columns());
  const int64_t resident = std::max(1, multiprocessors / t.cluster_size());
  const auto k_blocks = static_cast<double>(ceil_div(k, kScaleBlock));
  const auto rounds = static_cast<double>(ceil_div(clusters, resident));
  double blocks = rounds * k_blocks / t.split_k;
  if (t.stream_k) {
    const StreamKSchedule schedule =
        make_stream_k_schedule(static_cast<uint32_t>(clusters), static_cast<uint32_t>(resident),
                               static_cast<uint32_t>(k_blocks));
    if (schedule.split > 0) {
      blocks = (rounds - 1) * k_blocks + schedule.owned + StreamKSchedule::kMergeBlocks;
    }
  }
  return {rounds, blocks};
}

/// The time of B's bytes, in microseconds: from memory, or from the L2 cache where they stay there.
double time_of_b(int64_t n, int64_t k) {
  constexpr double kL2Bytes = 30e6;  // of the H100's 50 MB, what one matrix can count on
  constexpr double kMemoryBytes = 2.95e6, kL2BytesRead = 4.2e6;  // in a microsecond
  const double bytes = static_cast<double>(n) * static_cast<double>(k);
  return bytes / (bytes < kL2Bytes ? kL2BytesRead : kMemoryBytes);
}

/// Microseconds of a kernel with swap_ab: fixed, more if K is split, of a K block in one CTA, of a
/// K block where the multiprocessor has other CTAs to turn to, of a CTA there.
struct SwapAbTimes {
  int rows;
  double fixed, split, block_alone, block_among, cta;
};
/// Microseconds of the others: fixed, of a K block, of a round.
struct PersistentTimes {
  const char* name;
  double fixed, block, round;
};

// Fitted to the device times of 104 shapes (1 to 512 rows on nine matrices) on one H100,
// 2026-11-22, the weight of a configuration falling with its distance from the shape's best one. On
// 60 shapes that weren't in the fit, three of their six matrices neither, the configuration that
// they choose is 3.4 % slower in the mean than the best one, 21 % at worst; on those of the fit 3.0
// and 40 %.
constexpr SwapAbTimes kSwapAbTimes[] = {
    {8, 3.69, 0.30, 0.01, 0.189, 0.37},  {16, 4.30, 0.53, 0.20, 0.178, 0.38},
    {32, 4.46, 1.87, 0.07, 0.190, 0.79}, {64, 4.47, 3.03, 0.29, 0.212, 0.74},
    {96, 5.00, 2.03, 0.35, 0.219, 1.30}, {128, 3.87, 3.81, 0.40, 0.308, 2.18}};
constexpr PersistentTimes kPersistentTimes[] = {
    {"128x64_1x1", 5.39, 0.290, 0.82},          {"128x192_2x1", 4.80, 0.545, 1.91},
    {"128x192_2x1_streamk", 4.24, 0.678, 1.42}, {"128x256_1x1", 6.34, 0.709, 2.21},
    {"128x256_2x1", 5.69, 0.712, 2.24},         {"128x256_2x1_streamk", 6.05, 0.780, 1.80},
    {"256x128_2x1", 4.75, 0.732, 2.21}};

double time_with(const SwapAbTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  // Where K is split, clusters don't fill the multiprocessors evenly: each halving costs as much.
  constexpr double kOfEachHalving = 0.08;
  const int64_t ctas = ceil_div(m, t.tile_m) * ceil_div(n, t.tile_n) * t.split_k;
  const auto on_busiest = static_cast<double>(ceil_div(ctas, multiprocessors));
  const double rounds = std::ceil(on_busiest / t.resident_ctas);
  const double blocks = static_cast<double>(ceil_div(k, kScaleBlock)) / t.split_k;
  const double work =
      std::max({rounds * blocks * times.block_alone,
                on_busiest * (blocks * times.block_among + times.cta), time_of_b(n, k)});
  return (times.fixed + (t.split_k > 1 ? times.split : 0) + work) *
         (1 + kOfEachHalving * std::log2(t.split_k));
}

double time_with(const PersistentTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  // In doubt the kernels with swap_ab: they were faster where the two were predicted to be equal.
  constexpr double kInDoubt = 1.1;
  const Walk walk = walk_of(t, m, n, k, multiprocessors);
  return kInDoubt * (times.fixed + std::max(walk.blocks * times.block + walk.rounds * times.round,
                                            time_of_b(n, k)));
}

/// The configuration with the least of what `predict` says, which is infinite for those that don't
/// take part.
template <class Predict>
const GemmKernel& fastest(Predict&& predict) {
  const auto& kernels = gemm_kernels();
  return *std::min_element(
      kernels.begin(), kernels.end(),
      [&](const GemmKernel& x, const GemmKernel& y) { return predict(x) < predict(y); });
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Up to some hundred rows: by predicted time.
const GemmKernel& choose_for_few_rows(int64_t m, int64_t n, int64_t k, int multiprocessors,
                                      Workspace workspace) {
  constexpr int kMostTilesOfRows = 2;  // more of a narrow tile read B too often
  return fastest([&](const GemmKernel& kernel) {
    const GemmTraits& traits = kernel.traits;
    if (traits.stream_k && workspace == Workspace::kNone) return kNever;
    for (const SwapAbTimes& times : kSwapAbTimes) {
      if (traits.swap_ab && traits.tile_m == times.rows) {
        return m <= kMostTilesOfRows * traits.tile_m
                   ? time_with(times, traits, m, n, k, multiprocessors)
                   : kNever;
      }
    }
    for (const PersistentTimes& times : kPersistentTimes) {
      if (kernel.name == times.name) return time_with(times, traits, m, n, k, multiprocessors);
    }
    return kNever;
  });
}

/// Otherwise the tile that leaves the fewest multiprocessors idle in the last round; `factor` is
/// what an element's K block takes in it. The wide tile moves fewer bytes for each multiplication,
/// and large shapes are limited by power and by L2. Where a tile has few K blocks, its output
/// counts: the tall one has all slices in memory at once, the narrow one the most slots for C.
const GemmKernel& choose_for_many_rows(int64_t m, int64_t n, int64_t k, bool has_residual,
                                       int multiprocessors, Workspace workspace) {
  constexpr int64_t kShortK = 1024;  // limits and factors found on an H100
  const bool is_short = k <= kShortK;
  struct Candidate {
    const char* name;
    double factor;
  };
  const Candidate candidates[] = {
      {"128x256_2x1", 0.95},
      {"128x192_2x1", is_short && has_residual ? 0.87 : 1},
      {"256x128_2x1", is_short ? 0.9 : 1},
      // The wide tile's kernel for a divided last round is the faster one even where it divides
      // nothing: ptxas gives its main loop other registers. The narrow one's must promise 3 %.
      {"128x256_2x1_streamk", 0.94},
      {"128x192_2x1_streamk", 1.03},
  };
  return fastest([&](const GemmKernel& kernel) {
    const GemmTraits& traits = kernel.traits;
    if (traits.stream_k && workspace == Workspace::kNone) return kNever;
    for (const auto& [name, factor] : candidates) {
      if (kernel.name == name) {
        return factor * walk_of(traits, m, n, k, multiprocessors).blocks * traits.tile_m *
               traits.tile_n;
      }
    }
    return kNever;
  });
}

}  // namespace

const GemmKernel& choose_gemm_kernel(int64_t m, int64_t n, int64_t k, bool has_residual,
                                     int multiprocessors, Workspace workspace) {
  constexpr int64_t kFewRows = 512;
  if (m <= kFewRows) return choose_for_few_rows(m, n, k, multiprocessors, workspace);
  return choose_for_many_rows(m, n, k, has_residual, multiprocessors, workspace);
}

}  // namespace bw::hopper
