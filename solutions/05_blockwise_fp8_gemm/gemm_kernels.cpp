#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

#include <limits>

#include "common/host/find_by_name.hpp"
#include "common/host/require.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_cost_model.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"

namespace bw {
namespace {

std::vector<GemmKernel> collect_kernels() {
  std::vector<GemmKernel> all;
  for (const auto group :
       {detail::single_cta_kernels, detail::half_tile_kernels, detail::cta_pair_kernels,
        detail::cluster_kernels, detail::pair_cluster_kernels, detail::fp32_output_kernels}) {
    for (const GemmKernel& kernel : group()) all.push_back(kernel);
  }
  return all;
}

}  // namespace

const std::vector<GemmKernel>& gemm_kernels() {
  static const std::vector<GemmKernel> kernels = collect_kernels();
  return kernels;
}

const GemmKernel& find_gemm_kernel(const char* name) { return find_by_name(gemm_kernels(), name); }

const GemmKernel& choose_gemm_kernel(int64_t m, int64_t n, int64_t k, OutputType output,
                                     int multiprocessors) {
  const GemmKernel* best = nullptr;
  int64_t best_cost = std::numeric_limits<int64_t>::max();
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (kernel.traits.output != output) continue;
    const int64_t cost = modelled_cycles(kernel, m, n, k, multiprocessors);
    if (cost < best_cost) {
      best = &kernel;
      best_cost = cost;
    }
  }
  require(best != nullptr, "No configuration fits a device of ", multiprocessors,
          " multiprocessors.");
  return *best;
}

}  // namespace bw
