#pragma once
/// \file
/// Kernels of every supported shape, with those that the library ships; one group per file.

#include <vector>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw::test {

std::vector<GemmKernel> tall_kernels();          ///< cta_group 1, MMA_M 128, every N
std::vector<GemmKernel> half_kernels();          ///< cta_group 1, MMA_M 64, every N
std::vector<GemmKernel> pair_kernels();          ///< cta_group 2, both MMA_M, every N
std::vector<GemmKernel> cluster_kernels();       ///< cta_group 1, every cluster
std::vector<GemmKernel> pair_cluster_kernels();  ///< cta_group 2, every cluster
std::vector<GemmKernel> grouped_kernels();       ///< two K blocks a stage

}  // namespace bw::test
