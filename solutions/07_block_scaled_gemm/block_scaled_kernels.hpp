#pragma once
/// \file
/// The kernels that the library ships, by name.

#include <vector>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_traits.hpp"

namespace bw {

/// One compiled kernel: what a launch of chapter 5's kernels needs, and the format.
struct BlockScaledKernel {
  /// `<format>_<chapter 5's name>[_overlap]`
  const char* name;
  BlockScaledTraits traits;  ///< what it is compiled for
  GemmKernel gemm;           ///< the launch, under the same name, taking BlockScaledKernelArguments
  int b_scale_parts;         ///< groups of 128 rows of B whose scales a tile needs
};

/// "mxfp8", "mxfp4", "nvfp4", in the order of BlockFormat.
const std::vector<const char*>& block_format_names();

/// The name that `traits` have, for as long as the program runs.
const char* block_scaled_kernel_name(const BlockScaledTraits& traits);

/// All kernels, by format, then by shape.
const std::vector<BlockScaledKernel>& block_scaled_kernels();

/// The kernel called `name`. Throws Error, with all names, if no kernel has it.
const BlockScaledKernel& find_block_scaled_kernel(const char* name);

/// The kernel for D [m, n] of this format on `multiprocessors` SMs: that whose rounds of tiles take
/// the least time for MMAs and copies.
const BlockScaledKernel& choose_block_scaled_kernel(BlockFormat format, int64_t m, int64_t n,
                                                    int multiprocessors);

}  // namespace bw
