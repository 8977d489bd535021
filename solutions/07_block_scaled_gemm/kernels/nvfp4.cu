/// \file
/// e2m1 with one ue4m3 scale for 16 elements.
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_groups.hpp"
#include "solutions/07_block_scaled_gemm/instantiate_block_scaled_kernel.cuh"

namespace bw::detail {

std::vector<BlockScaledKernel> nvfp4_kernels() { return kernels_of_format<BlockFormat::kNvfp4>(); }

}  // namespace bw::detail
