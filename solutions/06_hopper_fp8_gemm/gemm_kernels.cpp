#include <algorithm>

#include "common/host/ceil_div.hpp"
#include "common/host/error.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw::hopper {

std::string gemm_kernel_name(const GemmTraits& t) {
  std::string name = std::to_string(t.tile_m) + "x" + std::to_string(t.tile_n);
  if (t.split_k > 1) return name + "_split" + std::to_string(t.split_k);
  return name + "_" + std::to_string(t.cluster_m) + "x" + std::to_string(t.cluster_n);
}

const std::vector<GemmKernel>& gemm_kernels() {
  static const std::vector<GemmKernel> kernels{detail::wide_tile(),  detail::wide_tile_single(),
                                               detail::tall_tile(),  detail::narrow_tile(),
                                               detail::small_tile(), detail::split_tile()};
  return kernels;
}

const GemmKernel& find_gemm_kernel(std::string_view name) {
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (kernel.name == name) return kernel;
  }
  std::string names;
  for (const GemmKernel& kernel : gemm_kernels()) {
    names += (names.empty() ? "" : ", ") + kernel.name;
  }
  throw Error("There is no configuration called " + std::string(name) + "; give one of " + names +
              ".");
}

const GemmKernel& choose_gemm_kernel(int64_t m, int64_t n, int64_t k, int multiprocessors) {
  // Limits found on an H100, over the shapes of the chapter's table.
  constexpr int64_t kFewRows = 64, kTileRows = 128, kShortK = 1024;
  if (m <= kFewRows) {
    const GemmKernel& split = find_gemm_kernel("64x128_split4");
    if (ceil_div(n, split.traits.tile_n) * split.traits.split_k <= multiprocessors) return split;
  }
  if (m <= kTileRows) return find_gemm_kernel("128x64_1x1");

  // Otherwise the tile that leaves the fewest multiprocessors idle in the last round, counted in
  // elements of D that a CTA computes one after the other; `percent` is what such an element takes.
  // The wide tile moves fewer bytes for each multiplication, and large shapes are limited by power.
  // Where a tile has few K blocks its output counts: the tall one has all slices in memory at once.
  struct Candidate {
    const char* name;
    int64_t percent;
  };
  const Candidate candidates[] = {
      {"128x256_2x1", 95}, {"128x192_2x1", 100}, {"256x128_2x1", k <= kShortK ? 90 : 100}};
  const GemmKernel* best = nullptr;
  int64_t best_cost = 0;
  for (const auto& [name, percent] : candidates) {
    const GemmKernel& kernel = find_gemm_kernel(name);
    const GemmTraits& t = kernel.traits;
    const int64_t clusters = ceil_div(m, t.cluster_rows()) * ceil_div(n, t.cluster_columns());
    const int64_t resident = std::max(1, multiprocessors / t.cluster_size());
    const int64_t cost = ceil_div(clusters, resident) * t.tile_m * t.tile_n * percent;
    if (best == nullptr || cost < best_cost) {
      best = &kernel;
      best_cost = cost;
    }
  }
  return *best;
}

}  // namespace bw::hopper
