#include <algorithm>

#include "common/host/ceil_div.hpp"
#include "common/host/find_by_name.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {

std::string gemm_kernel_name(const GemmTraits& t) {
  std::string name = std::to_string(t.tile_m) + "x" + std::to_string(t.tile_n);
  if (t.split_k > 1) return name + "_split" + std::to_string(t.split_k);
  name += "_" + std::to_string(t.cluster_m) + "x" + std::to_string(t.cluster_n);
  return t.stream_k ? name + "_streamk" : name;
}

const std::vector<GemmKernel>& gemm_kernels() {
  static const std::vector<GemmKernel> kernels{
      detail::wide_tile(),  detail::wide_tile_stream_k(), detail::wide_tile_single(),
      detail::tall_tile(),  detail::narrow_tile(),        detail::narrow_tile_stream_k(),
      detail::small_tile(), detail::split_tile()};
  return kernels;
}

const GemmKernel& find_gemm_kernel(std::string_view name) {
  return find_by_name(gemm_kernels(), name);
}

namespace {

/// Time in which a GEMM's last CTA is finished, in units of a K block of one element of D.
double cost(const GemmTraits& t, int64_t m, int64_t n, int64_t k, int multiprocessors) {
  const int64_t clusters = ceil_div(m, t.cluster_rows()) * ceil_div(n, t.cluster_columns());
  const int64_t resident = std::max(1, multiprocessors / t.cluster_size());
  const auto k_blocks = static_cast<double>(ceil_div(k, kScaleBlock));
  const auto rounds = static_cast<double>(ceil_div(clusters, resident));
  double blocks = rounds * k_blocks;
  if (t.stream_k) {
    const StreamKSchedule schedule =
        make_stream_k_schedule(static_cast<uint32_t>(clusters), static_cast<uint32_t>(resident),
                               static_cast<uint32_t>(k_blocks));
    if (schedule.split > 0) {
      blocks = (rounds - 1) * k_blocks + schedule.owned + StreamKSchedule::kMergeBlocks;
    }
  }
  return blocks * t.tile_m * t.tile_n;
}

}  // namespace

const GemmKernel& choose_gemm_kernel(int64_t m, int64_t n, int64_t k, bool has_residual,
                                     int multiprocessors, Workspace workspace) {
  // Limits and factors found on an H100, over the shapes of the chapter's table.
  constexpr int64_t kFewRows = 64, kTileRows = 128, kShortK = 1024;
  if (m <= kFewRows) {
    const GemmKernel& split = find_gemm_kernel("64x128_split4");
    if (ceil_div(n, split.traits.tile_n) * split.traits.split_k <= multiprocessors) return split;
  }
  if (m <= kTileRows) return find_gemm_kernel("128x64_1x1");

  // Otherwise the tile that leaves the fewest multiprocessors idle in the last round; `factor` is
  // what an element's K block takes in it. The wide tile moves fewer bytes for each multiplication,
  // and large shapes are limited by power and by L2. Where a tile has few K blocks, its output
  // counts: the tall one has all slices in memory at once, the narrow one the most slots for C.
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
  const GemmKernel* best = nullptr;
  double best_cost = 0;
  for (const auto& [name, factor] : candidates) {
    const GemmKernel& kernel = find_gemm_kernel(name);
    if (kernel.traits.stream_k && workspace == Workspace::kNone) continue;
    const double kernel_cost = factor * cost(kernel.traits, m, n, k, multiprocessors);
    if (best == nullptr || kernel_cost < best_cost) {
      best = &kernel;
      best_cost = kernel_cost;
    }
  }
  return *best;
}

}  // namespace bw::hopper
