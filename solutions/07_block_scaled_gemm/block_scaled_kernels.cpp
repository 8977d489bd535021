#include "solutions/07_block_scaled_gemm/block_scaled_kernels.hpp"

#include <algorithm>
#include <string>

#include "common/host/ceil_div.hpp"
#include "common/host/find_by_name.hpp"
#include "common/host/lasting_text.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_groups.hpp"

namespace bw {
namespace {

std::vector<BlockScaledKernel> collect_kernels() {
  std::vector<BlockScaledKernel> all;
  for (const auto group : {detail::mxfp8_kernels, detail::mxfp4_kernels, detail::nvfp4_kernels}) {
    for (const BlockScaledKernel& kernel : group()) all.push_back(kernel);
  }
  return all;
}

// How many tiles a CTA computes one after the other, if clusters fit on all multiprocessors.
int64_t rounds(const GemmTraits& traits, int64_t m, int64_t n, int multiprocessors) {
  const int64_t pieces = ceil_div(m, traits.cluster_rows()) * ceil_div(n, traits.cluster_columns());
  return ceil_div(pieces, std::max(1, multiprocessors / traits.cluster_size()));
}

// Cycles of a K block: its MMAs, or its copies if they take longer. An MMA of 128 rows for each CTA
// takes half a cycle a column; 90 bytes a cycle is what a CTA's copies bring in the chapter's lab
// without_promotion, whose K blocks are limited by them (simulated).
double cycles_of_k_block(const GemmTraits& traits) {
  constexpr double kCyclesPerColumn = 0.5 * kMmasPerKBlock, kBytesPerCycle = 90;
  const double bytes = (traits.cta_rows() + traits.cta_b_rows()) * double{kBlockScaledRowBytes};
  return std::max(kCyclesPerColumn * traits.mma_n, bytes / kBytesPerCycle);
}

}  // namespace

const std::vector<const char*>& block_format_names() {
  static const std::vector<const char*> names = {"mxfp8", "mxfp4", "nvfp4"};
  return names;
}

const char* block_scaled_kernel_name(const BlockScaledTraits& traits) {
  std::string name = block_format_names()[static_cast<int>(traits.format)];
  name += std::string("_") + gemm_kernel_name(traits.gemm);
  if (traits.accumulators == AccumulatorPlan::kOverlapping) name += "_overlap";
  return lasting_text(name);
}

const std::vector<BlockScaledKernel>& block_scaled_kernels() {
  static const std::vector<BlockScaledKernel> kernels = collect_kernels();
  return kernels;
}

const BlockScaledKernel& find_block_scaled_kernel(const char* name) {
  return find_by_name(block_scaled_kernels(), name);
}

const BlockScaledKernel& choose_block_scaled_kernel(BlockFormat format, int64_t m, int64_t n,
                                                    int multiprocessors) {
  // Of those that take as long, the last one: it is listed after kernels that read more from L2.
  const BlockScaledKernel* chosen = nullptr;
  double least = 0;
  for (const BlockScaledKernel& kernel : block_scaled_kernels()) {
    if (kernel.traits.format != format) continue;
    const GemmTraits& traits = kernel.gemm.traits;
    const double cycles = rounds(traits, m, n, multiprocessors) * cycles_of_k_block(traits);
    if (chosen == nullptr || cycles <= least) {
      chosen = &kernel;
      least = cycles;
    }
  }
  return *chosen;
}

}  // namespace bw
