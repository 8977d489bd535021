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

// Fitted to the device times of 195 shapes (1 to 4096 rows on 26 matrices, and squares) on one
// H100, 2026-11-22: all together, by small steps that made the choice cost less, also where the
// times of two configurations are predicted within some percent, and the predictions of fast ones
// right.
constexpr SwapAbTimes kSwapAbTimes[] = {{"8x64_swap", 0.00, 0.20, 0.339, 0.157, 1.37},
                                        {"16x64_swap", 1.78, 0.56, 0.280, 0.142, 1.12},
                                        {"32x64_swap", 2.44, 1.32, 0.290, 0.150, 1.00},
                                        {"32x64_swap2_deep", 1.93, 0.21, 0.302, 0.184, 3.65},
                                        {"32x64_swap_deep", 4.05, 0.82, 0.043, 0.173, 0.76},
                                        {"64x64_swap", 2.30, 2.80, 0.424, 0.052, 1.87},
                                        {"64x64_swap2_deep", 4.05, 0.74, 0.006, 0.252, 1.20}};
constexpr PersistentTimes kPersistentTimes[] = {{"128x128_1x1", 3.57, 0.315, 2.48},
                                                {"128x128_2x1", 5.37, 0.335, 1.22},
                                                {"128x128_split2", 6.19, 0.323, 1.68},
                                                {"128x192_1x1", 3.70, 0.502, 3.58},
                                                {"128x192_2x1", 5.51, 0.504, 1.22},
                                                {"128x192_2x1_streamk", 8.29, 0.577, 0.25},
                                                {"128x256_1x1", 5.21, 0.920, 1.69},
                                                {"128x256_2x1", 8.31, 0.748, 0.00},
                                                {"128x256_2x1_streamk", 10.50, 0.691, 0.01},
                                                {"128x64_1x1", 2.58, 0.253, 1.91},
                                                {"128x64_2x1", 2.49, 0.262, 1.51},
                                                {"128x64_split2", 0.55, 0.261, 6.09},
                                                {"256x128_2x1", 4.97, 0.673, 1.38},
                                                {"64x256_1x1", 5.19, 0.392, 1.56},
                                                {"64x64_1x1", 2.08, 0.251, 1.54},
                                                {"64x64_split2", 1.30, 0.275, 3.00},
                                                {"64x64_split3", 2.40, 0.241, 3.43}};

/// The time of two things that go on at once. Where both take about as long, each waits for the
/// other now and then.
double time_together(double work, double bytes) {
  constexpr double kSharpness = 4;  // the more, the nearer to the larger one
  return std::pow(std::pow(work, kSharpness) + std::pow(bytes, kSharpness), 1 / kSharpness);
}

double time_with(const SwapAbTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  // Where K is split, clusters don't fill the multiprocessors evenly: each halving costs as much.
  constexpr double kOfEachHalving = 0.05;
  const int64_t ctas = ceil_div(m, t.tile_m) * ceil_div(n, t.tile_n) * t.split_k;
  const int filled = filled_by_clusters_of(t.cluster_size(), multiprocessors);
  const auto on_busiest = static_cast<double>(ceil_div(ctas, filled));
  const double rounds = std::ceil(on_busiest / t.resident_ctas);
  const double blocks = static_cast<double>(ceil_div(k, kScaleBlock)) / t.split_k;
  const double work = std::max(rounds * blocks * times.block_alone,
                               on_busiest * (blocks * times.block_among + times.cta));
  return (times.fixed + (t.split_k > 1 ? times.split : 0) +
          time_together(work, time_of_bytes(t, m, n, k))) *
         (1 + kOfEachHalving * std::log2(t.split_k));
}

double time_with(const PersistentTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  const Walk walk = walk_of(t, m, n, k, multiprocessors);
  return times.fixed + time_together(walk.blocks * times.block + walk.rounds * times.round,
                                     time_of_bytes(t, m, n, k));
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

GemmChoice choose_gemm(int64_t m, int64_t n, int64_t k, bool has_residual, int multiprocessors,
                       Workspace workspace) {
  // Tiles of the widest kernel for each multiprocessor, up to which the times were fitted.
  constexpr int64_t kFewRounds = 2;
  constexpr int64_t kWideRows = 128, kWideColumns = 256;
  if (ceil_div(m, kWideRows) * ceil_div(n, kWideColumns) <= kFewRounds * multiprocessors) {
    return choose_by_time(m, n, k, multiprocessors, workspace);
  }
  return choose_for_many_rounds(m, n, k, has_residual, multiprocessors, workspace);
}

}  // namespace bw::hopper
