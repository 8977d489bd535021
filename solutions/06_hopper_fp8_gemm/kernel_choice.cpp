/// \file
/// Which configuration a shape gets.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "common/host/ceil_div.hpp"
#include "common/host/find_by_name.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/memory_time.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {
namespace {

/// Multiprocessors that clusters of this many CTAs can use: clusters of more than two leave some
/// of a GPC idle.
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
/// tile that is multicast once. Launched GPC by GPC, a part of what neighbours read is one request.
double time_of_bytes(const GemmTraits& t, LaunchOrder order, int64_t m, int64_t n, int64_t k) {
  constexpr double kL2BytesTaken = 8.3e6;  // in a microsecond
  // Measured: 0.50 to 0.68 of the sectors that arrive, compared with 0.74 to 1.03 across the GPCs.
  constexpr double kTakenGpcByGpc = 0.65;
  const double clusters = static_cast<double>(ceil_div(m, t.cluster_rows())) *
                          static_cast<double>(ceil_div(n, t.cluster_columns()));
  const double taken = clusters * (t.cluster_rows() + t.cluster_columns()) *
                       static_cast<double>(round_up(k, kScaleBlock)) *
                       (order == LaunchOrder::kGpcByGpc ? kTakenGpcByGpc : 1);
  return std::max(time_to_read_b(static_cast<double>(n) * static_cast<double>(k)),
                  taken / kL2BytesTaken);
}

/// Microseconds of a kernel with swap_ab: fixed, more if K is split, of a K block in one CTA, of a
/// K block where the multiprocessor has other CTAs to turn to, of a CTA there.
struct SwapAbTimes {
  std::string_view name;  ///< of the choices, without the split
  double fixed, split, block_alone, block_among, cta;
};
/// Microseconds of the others: fixed, of a K block, of a round.
struct PersistentTimes {
  const char* name;  ///< of the choice
  double fixed, block, round;
};

// Fitted to the device times of 276 shapes (1 to 4096 rows on 28 matrices) on one H100, 2026-11-26:
// first each choice's times where it is fast, then all together, by small steps that made the
// choice cost less, also where two times are predicted within some percent. (128 x 96 and 128 x 144
// later, to 60 shapes on which they are near the fastest, all other times kept.)
constexpr SwapAbTimes kSwapAbTimes[] = {
    {"8x64_swap", 3.873, 0.110, 0.190, 0.160, 0.231},
    {"8x64_swap/gpc", 3.920, 0.398, 0.161, 0.104, 0.561},
    {"16x64_swap", 4.726, 0.095, 0.167, 0.103, 0.269},
    {"16x64_swap/gpc", 5.064, 0.507, 0.135, 0.124, 0.350},
    {"32x64_swap", 4.651, 0.337, 0.213, 0.100, 0.568},
    {"32x64_swap/gpc", 5.463, 1.732, 0.182, 0.102, 0.496},
    {"32x64_swap2_deep", 4.162, 0.471, 0.230, 0.114, 1.928},
    {"32x64_swap2_deep/gpc", 4.524, 0.800, 0.198, 0.174, 1.160},
    {"32x64_swap_deep", 4.576, 0.820, 0.043, 0.161, 0.978},
    {"32x64_swap_deep/gpc", 5.312, 0.239, 0.135, 0.154, 0.459},
    {"64x64_swap", 4.636, 1.206, 0.261, 0.064, 1.039},
    {"64x64_swap/gpc", 5.076, 0.237, 0.262, 0.122, 0.605},
    {"64x64_swap2_deep", 2.627, 0.911, 0.006, 0.186, 2.899},
};
constexpr PersistentTimes kPersistentTimes[] = {
    {"128x128_1x1", 4.302, 0.288, 2.608},    {"128x128_1x1/gpc", 5.259, 0.292, 1.372},
    {"128x128_2x1", 5.620, 0.298, 1.476},    {"128x128_split2", 5.088, 0.408, 1.849},
    {"128x144_1x1", 4.711, 0.335, 3.052},    {"128x144_1x1/gpc", 4.324, 0.398, 2.590},
    {"128x192_1x1", 5.220, 0.475, 1.501},    {"128x192_1x1/gpc", 5.153, 0.497, 2.094},
    {"128x192_2x1", 5.628, 0.508, 1.620},    {"128x192_2x1_streamk", 8.011, 0.491, 1.343},
    {"128x256_1x1", 4.708, 0.696, 2.073},    {"128x256_1x1/gpc", 5.346, 0.674, 1.679},
    {"128x256_2x1", 5.714, 0.725, 1.861},    {"128x256_2x1_streamk", 7.121, 0.656, 2.266},
    {"128x64_1x1", 4.311, 0.188, 1.135},     {"128x64_1x1/gpc", 4.789, 0.181, 1.278},
    {"128x64_2x1", 5.128, 0.168, 1.043},     {"128x64_split2", 2.776, 0.223, 3.556},
    {"128x96_1x1", 5.634, 0.211, 1.389},     {"128x96_1x1/gpc", 4.889, 0.267, 1.688},
    {"256x128_2x1", 7.185, 0.646, 1.395},    {"64x256_1x1", 6.042, 0.310, 1.307},
    {"64x256_1x1/gpc", 5.637, 0.312, 1.586}, {"64x64_1x1", 4.392, 0.193, 0.516},
    {"64x64_1x1/gpc", 5.100, 0.167, 0.697},  {"64x64_split2", 3.107, 0.204, 2.339},
    {"64x64_split3", 4.067, 0.195, 2.194},
};

/// The time of two things that go on at once. Where both take about as long, each waits for the
/// other now and then.
double time_together(double work, double bytes) {
  constexpr double kSharpness = 4;  // the more, the nearer to the larger one
  return std::pow(std::pow(work, kSharpness) + std::pow(bytes, kSharpness), 1 / kSharpness);
}

double time_with(const SwapAbTimes& times, const GemmChoice& choice, int64_t m, int64_t n,
                 int64_t k, int multiprocessors) {
  const GemmTraits& t = choice.kernel->traits;
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
          time_together(work, time_of_bytes(t, choice.order, m, n, k))) *
         (1 + kOfEachHalving * std::log2(t.split_k));
}

double time_with(const PersistentTimes& times, const GemmChoice& choice, int64_t m, int64_t n,
                 int64_t k, int multiprocessors) {
  const GemmTraits& t = choice.kernel->traits;
  const Walk walk = walk_of(t, m, n, k, multiprocessors);
  return times.fixed + time_together(walk.blocks * times.block + walk.rounds * times.round,
                                     time_of_bytes(t, choice.order, m, n, k));
}

/// The kind of a choice with swap_ab: its name, whether K is split or not.
std::string kind_of(const GemmChoice& choice) {
  GemmTraits traits = choice.kernel->traits;
  traits.split_k = 1;
  return std::string(gemm_kernel_name(traits)) +
         (choice.order == LaunchOrder::kGpcByGpc ? kGpcByGpcSuffix : "");
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Predicted microseconds of a launch; kNever for choices that don't take part.
double predicted_time(const GemmChoice& choice, int64_t m, int64_t n, int64_t k,
                      int multiprocessors, Workspace workspace) {
  constexpr int kMostTilesOfRows = 2;  // more of a narrow tile read B too often
  // Fewer rows than half of a tile's waste it; up to 32 it doesn't matter.
  constexpr int kAnyRows = 32, kHalfTileRows = 64;
  const int64_t most_tile_rows = std::max<int64_t>(kAnyRows, 2 * round_up(m, 8));
  const GemmTraits& traits = choice.kernel->traits;
  if (traits.stream_k && workspace == Workspace::kNone) return kNever;
  const bool is_for_few_rows = traits.swap_ab || traits.tile_m == kHalfTileRows;
  if (is_for_few_rows && traits.tile_m > most_tile_rows) return kNever;
  if (traits.swap_ab) {
    if (m > kMostTilesOfRows * traits.tile_m) return kNever;
    return time_with(find_by_name(kSwapAbTimes, kind_of(choice)), choice, m, n, k, multiprocessors);
  }
  return time_with(find_by_name(kPersistentTimes, choice.name()), choice, m, n, k, multiprocessors);
}

}  // namespace

GemmChoice choose_gemm(int64_t m, int64_t n, int64_t k, int multiprocessors, Workspace workspace) {
  const GemmChoice* fastest = nullptr;
  double least = kNever;
  for (const GemmChoice& choice : gemm_choices()) {
    const double time = predicted_time(choice, m, n, k, multiprocessors, workspace);
    if (fastest != nullptr && time >= least) continue;
    fastest = &choice;
    least = time;
  }
  return *fastest;
}

}  // namespace bw::hopper
