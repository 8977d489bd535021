/// \file
/// Which configuration a shape gets.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "common/host/ceil_div.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/memory_time.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {
namespace {

/// Multiprocessors that have clusters of so many CTAs: those of more than two leave some of a GPC
/// to nobody.
int filled_by_clusters_of(int ctas, int multiprocessors) {
  return ctas > 2 ? std::max(ctas, multiprocessors * 7 / 8) : multiprocessors;
}

/// Rounds of clusters that the busiest multiprocessor sees, and the K blocks that it walks one
/// after the other.
struct Walk {
  double rounds;
  double blocks;
};

Walk walk_of(const GemmTraits& t, int64_t m, int64_t n, int64_t k, int multiprocessors) {
  const int64_t clusters = ceil_div(m, t.cluster_rows()) * ceil_div(n, t.cluster_columns());
  const int filled = filled_by_clusters_of(t.cluster_size(), multiprocessors);
  const int64_t resident = std::max(1, filled / t.cluster_size());
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

/// Microseconds that none of the CTAs' own work can hide: B's bytes from memory, or from the L2
/// cache where they stay there; and what all multiprocessors together take from the L2 cache, a
/// tile that is multicast once.
double time_of_bytes(const GemmTraits& t, int64_t m, int64_t n, int64_t k) {
  constexpr double kL2BytesTaken = 8.3e6;  // in a microsecond
  const double clusters = static_cast<double>(ceil_div(m, t.cluster_rows())) *
                          static_cast<double>(ceil_div(n, t.cluster_columns()));
  const double taken = clusters * (t.cluster_rows() + t.cluster_columns()) *
                       static_cast<double>(round_up(k, kScaleBlock));
  return std::max(time_to_read_b(static_cast<double>(n) * static_cast<double>(k)),
                  taken / kL2BytesTaken);
}

/// Microseconds of a kernel with swap_ab: fixed, more if K is split, of a K block in one CTA, of a
/// K block where the multiprocessor has other CTAs to turn to, of a CTA there.
struct SwapAbTimes {
  std::string_view name;  ///< of the configurations, without the split
  double fixed, split, block_alone, block_among, cta;
};
/// Microseconds of the others: fixed, of a K block, of a round.
struct PersistentTimes {
  const char* name;
  double fixed, block, round;
};

// Fitted to the device times of 158 shapes (4 to 2048 rows on eleven matrices, and squares) on one
// H100, 2026-11-22: each configuration's constants by themselves, its times weighted by how near
// they are to the shape's best; then all together, by small steps that made the choice cost less.
constexpr SwapAbTimes kSwapAbTimes[] = {{"8x64_swap", 3.57, 0.00, 0.204, 0.152, 0.57},
                                        {"16x64_swap", 4.14, 0.10, 0.271, 0.115, 0.60},
                                        {"32x64_swap", 3.64, 0.63, 0.313, 0.144, 0.80},
                                        {"32x64_swap2_deep", 4.47, 0.49, 0.178, 0.115, 1.72},
                                        {"32x64_swap_deep", 3.64, 3.63, 0.276, 0.124, 1.02},
                                        {"64x64_swap", 3.65, 0.43, 0.352, 0.197, 0.84},
                                        {"64x64_swap2_deep", 3.78, 1.06, 0.271, 0.221, 1.02}};
constexpr PersistentTimes kPersistentTimes[] = {
    {"128x128_1x1", 5.38, 0.332, 1.58},         {"128x128_2x1", 4.22, 0.363, 2.06},
    {"128x128_split2", 5.69, 0.348, 2.15},      {"128x192_1x1", 5.02, 0.599, 1.59},
    {"128x192_2x1", 5.23, 0.545, 1.09},         {"128x192_2x1_streamk", 6.57, 0.591, 1.12},
    {"128x256_1x1", 6.69, 0.763, 1.65},         {"128x256_2x1", 6.34, 0.727, 1.64},
    {"128x256_2x1_streamk", 8.19, 0.696, 1.05}, {"128x64_1x1", 4.35, 0.247, 1.05},
    {"128x64_2x1", 3.76, 0.240, 1.21},          {"128x64_split2", 4.01, 0.233, 2.82},
    {"256x128_2x1", 6.89, 0.756, 0.12},         {"64x256_1x1", 5.47, 0.298, 3.22},
    {"64x64_1x1", 4.81, 0.192, 0.62},           {"64x64_split2", 5.51, 0.159, 1.84},
    {"64x64_split3", 3.60, 0.180, 2.80}};

double time_with(const SwapAbTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  // Where K is split, clusters don't fill the multiprocessors evenly: each halving costs as much.
  constexpr double kOfEachHalving = 0.05;
  const int64_t ctas = ceil_div(m, t.tile_m) * ceil_div(n, t.tile_n) * t.split_k;
  const int filled = filled_by_clusters_of(t.cluster_size(), multiprocessors);
  const auto on_busiest = static_cast<double>(ceil_div(ctas, filled));
  const double rounds = std::ceil(on_busiest / t.resident_ctas);
  const double blocks = static_cast<double>(ceil_div(k, kScaleBlock)) / t.split_k;
  const double work =
      std::max({rounds * blocks * times.block_alone,
                on_busiest * (blocks * times.block_among + times.cta), time_of_bytes(t, m, n, k)});
  return (times.fixed + (t.split_k > 1 ? times.split : 0) + work) *
         (1 + kOfEachHalving * std::log2(t.split_k));
}

double time_with(const PersistentTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  const Walk walk = walk_of(t, m, n, k, multiprocessors);
  return times.fixed +
         std::max(walk.blocks * times.block + walk.rounds * times.round, time_of_bytes(t, m, n, k));
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

/// Whether a configuration has this name, K split or not.
bool is_of_kind(const GemmKernel& kernel, std::string_view name) {
  const std::string_view all = kernel.name;
  const std::string_view rest = all.substr(std::min(name.size(), all.size()));
  return all.starts_with(name) && (rest.empty() || rest.starts_with("_split"));
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Where there is no more than some rounds of work: by predicted time.
const GemmKernel& choose_by_time(int64_t m, int64_t n, int64_t k, int multiprocessors,
                                 Workspace workspace) {
  constexpr int kMostTilesOfRows = 2;  // more of a narrow tile read B too often
  // Fewer rows than half of a tile's waste it; up to 32 it doesn't matter.
  constexpr int kAnyRows = 32, kHalfTileRows = 64;
  const int64_t most_tile_rows = std::max<int64_t>(kAnyRows, 2 * round_up(m, 8));
  return fastest([&](const GemmKernel& kernel) {
    const GemmTraits& traits = kernel.traits;
    if (traits.stream_k && workspace == Workspace::kNone) return kNever;
    const bool is_for_few_rows = traits.swap_ab || traits.tile_m == kHalfTileRows;
    if (is_for_few_rows && traits.tile_m > most_tile_rows) return kNever;
    for (const SwapAbTimes& times : kSwapAbTimes) {
      if (is_of_kind(kernel, times.name)) {
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
const GemmKernel& choose_for_many_rounds(int64_t m, int64_t n, int64_t k, bool has_residual,
                                         int multiprocessors, Workspace workspace) {
  constexpr int64_t kShortK = 1024;  // limits and factors found on an H100
  const bool is_short = k <= kShortK;
  struct Candidate {
    const char* name;
    double factor;
  };
  const Candidate candidates[] = {
      {"128x256_2x1", 0.95},
      {"128x256_1x1", 1.02},  // for an odd number of tiles of rows
      {"128x192_1x1", 1.1},
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
  // Tiles of the widest kernel for each multiprocessor, up to which the times were fitted.
  constexpr int64_t kFewRounds = 2;
  constexpr int64_t kWideRows = 128, kWideColumns = 256;
  if (ceil_div(m, kWideRows) * ceil_div(n, kWideColumns) <= kFewRounds * multiprocessors) {
    return choose_by_time(m, n, k, multiprocessors, workspace);
  }
  return choose_for_many_rounds(m, n, k, has_residual, multiprocessors, workspace);
}

}  // namespace bw::hopper
