#pragma once
/// \file
/// The kernels by translation unit: nvcc works on one group per file.

#include <vector>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw::detail {

std::vector<GemmKernel> single_cta_kernels();    ///< cta_group 1, no cluster, 128 rows
std::vector<GemmKernel> half_tile_kernels();     ///< cta_group 1, no cluster, 64 rows
std::vector<GemmKernel> cluster_kernels();       ///< cta_group 1, clusters
std::vector<GemmKernel> cta_pair_kernels();      ///< cta_group 2, one pair
std::vector<GemmKernel> pair_cluster_kernels();  ///< cta_group 2, clusters of pairs
std::vector<GemmKernel> fp32_output_kernels();   ///< D of fp32

}  // namespace bw::detail
