#include "solutions/07_block_scaled_gemm/block_scaled_kernels.hpp"

#include "common/host/ceil_div.hpp"
#include "common/host/find_by_name.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_groups.hpp"

namespace bw {
namespace {

std::vector<BlockScaledKernel> collect_kernels() {
  std::vector<BlockScaledKernel> all;
  for (const auto group : {detail::mxfp8_kernels, detail::mxfp4_kernels, detail::nvfp4_kernels}) {
    for (BlockScaledKernel& kernel : group()) all.push_back(std::move(kernel));
  }
  return all;
}

// Clusters' pieces of D, times their CTAs.
int64_t ctas_with_work(const GemmTraits& traits, int64_t m, int64_t n) {
  return ceil_div(m, traits.cluster_rows()) * ceil_div(n, traits.cluster_columns()) *
         traits.cluster_size();
}

}  // namespace

const std::vector<std::string>& block_format_names() {
  static const std::vector<std::string> names = {"mxfp8", "mxfp4", "nvfp4"};
  return names;
}

const std::vector<BlockScaledKernel>& block_scaled_kernels() {
  static const std::vector<BlockScaledKernel> kernels = collect_kernels();
  return kernels;
}

const BlockScaledKernel& find_block_scaled_kernel(std::string_view name) {
  return find_by_name(block_scaled_kernels(), name);
}

const BlockScaledKernel& choose_block_scaled_kernel(BlockFormat format, int64_t m, int64_t n,
                                                    int multiprocessors) {
  // A format's kernels are listed from the narrowest tile to the fastest one for large shapes.
  const BlockScaledKernel* chosen = nullptr;
  for (const BlockScaledKernel& kernel : block_scaled_kernels()) {
    if (kernel.traits.format != format) continue;
    if (chosen == nullptr || ctas_with_work(kernel.gemm.traits, m, n) >= multiprocessors) {
      chosen = &kernel;
    }
  }
  return *chosen;
}

}  // namespace bw
