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

/// Microseconds that none of the CTAs' own work can hide: B's bytes from memory, or from the L2
/// cache where they stay there; and what all multiprocessors together take from the L2 cache, a
/// tile that is multicast once.
double time_of_bytes(const GemmTraits& t, int64_t m, int64_t n, int64_t k) {
  constexpr double kL2Bytes = 30e6;  // of the H100's 50 MB, what one matrix can count on
  constexpr double kMemoryBytes = 2.95e6, kL2BytesRead = 4.2e6;  // in a microsecond
  constexpr double kL2BytesTaken = 8.3e6;                        // likewise
  const double b_bytes = static_cast<double>(n) * static_cast<double>(k);
  const double clusters = static_cast<double>(ceil_div(m, t.cluster_rows())) *
                          static_cast<double>(ceil_div(n, t.cluster_columns()));
  const double taken = clusters * (t.cluster_rows() + t.cluster_columns()) *
                       static_cast<double>(round_up(k, kScaleBlock));
  return std::max(b_bytes / (b_bytes < kL2Bytes ? kL2BytesRead : kMemoryBytes),
                  taken / kL2BytesTaken);
}

/// Microseconds of a kernel with swap_ab: fixed, more if K is split, of a K block in one CTA, of a
/// K block where the multiprocessor has other CTAs to turn to, of a CTA there.
struct SwapAbTimes {
  int rows;
  bool two_products;
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
constexpr SwapAbTimes kSwapAbTimes[] = {
    {8, false, 3.61, 0.00, 0.244, 0.166, 0.50},  {16, false, 4.05, 0.14, 0.234, 0.159, 0.49},
    {32, false, 4.90, 0.67, 0.257, 0.115, 0.71}, {64, false, 4.97, 0.66, 0.317, 0.130, 0.69},
    {64, true, 5.41, 0.31, 0.258, 0.141, 1.13},  {96, true, 6.19, 0.13, 0.272, 0.172, 1.16},
    {128, false, 6.31, 0.65, 0.391, 0.165, 2.01}};
constexpr PersistentTimes kPersistentTimes[] = {
    {"128x128_1x1", 5.64, 0.346, 1.70},         {"128x128_2x1", 4.78, 0.377, 1.80},
    {"128x128_split2", 5.75, 0.372, 2.47},      {"128x192_1x1", 5.40, 0.605, 1.51},
    {"128x192_2x1", 6.20, 0.529, 1.28},         {"128x192_2x1_streamk", 7.40, 0.544, 1.06},
    {"128x256_1x1", 7.39, 0.710, 1.30},         {"128x256_2x1", 5.99, 0.716, 1.53},
    {"128x256_2x1_streamk", 7.16, 0.729, 0.89}, {"128x64_1x1", 5.29, 0.233, 0.73},
    {"128x64_2x1", 4.25, 0.283, 1.11},          {"128x64_split2", 3.95, 0.340, 2.75},
    {"256x128_2x1", 6.15, 0.729, 0.61}};

double time_with(const SwapAbTimes& times, const GemmTraits& t, int64_t m, int64_t n, int64_t k,
                 int multiprocessors) {
  // Where K is split, clusters don't fill the multiprocessors evenly: each halving costs as much.
  constexpr double kOfEachHalving = 0.05;
  const int64_t ctas = ceil_div(m, t.tile_m) * ceil_div(n, t.tile_n) * t.split_k;
  const auto on_busiest = static_cast<double>(ceil_div(ctas, multiprocessors));
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

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Where there is no more than some rounds of work: by predicted time.
const GemmKernel& choose_by_time(int64_t m, int64_t n, int64_t k, int multiprocessors,
                                 Workspace workspace) {
  constexpr int kMostTilesOfRows = 2;  // more of a narrow tile read B too often
  return fastest([&](const GemmKernel& kernel) {
    const GemmTraits& traits = kernel.traits;
    if (traits.stream_k && workspace == Workspace::kNone) return kNever;
    for (const SwapAbTimes& times : kSwapAbTimes) {
      if (traits.swap_ab && traits.tile_m == times.rows &&
          traits.two_products == times.two_products) {
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
