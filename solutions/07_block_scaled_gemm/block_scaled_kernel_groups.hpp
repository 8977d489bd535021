#pragma once
/// \file
/// The kernels by translation unit: nvcc works on one format per file.

#include <vector>

#include "solutions/07_block_scaled_gemm/block_scaled_kernels.hpp"

namespace bw::detail {

std::vector<BlockScaledKernel> mxfp8_kernels();  ///< e4m3, ue8m0 for 32
std::vector<BlockScaledKernel> mxfp4_kernels();  ///< e2m1, ue8m0 for 32
std::vector<BlockScaledKernel> nvfp4_kernels();  ///< e2m1, ue4m3 for 16

}  // namespace bw::detail
