/// \file
/// e2m1 with one ue8m0 scale for 32 elements.
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_groups.hpp"
#include "solutions/07_block_scaled_gemm/instantiate_block_scaled_kernel.cuh"

namespace bw::detail {

std::vector<BlockScaledKernel> mxfp4_kernels() { return kernels_of_format<BlockFormat::kMxfp4>(); }

}  // namespace bw::detail
