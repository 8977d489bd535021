/// \file
/// e4m3 with one ue8m0 scale for 32 elements.
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_groups.hpp"
#include "solutions/07_block_scaled_gemm/instantiate_block_scaled_kernel.cuh"

namespace bw::detail {

std::vector<BlockScaledKernel> mxfp8_kernels() { return kernels_of_format<BlockFormat::kMxfp8>(); }

}  // namespace bw::detail
