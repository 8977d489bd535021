/// \file
/// One pair of CTAs per tile.
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

namespace bw::detail {

std::vector<GemmKernel> cta_pair_kernels() {
  return {
      instantiate_kernel<GemmTraits{.mma_m = 256, .mma_n = 128, .cta_group = 2, .cluster_m = 2}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 256, .cta_group = 2, .cluster_m = 2}>(),
      instantiate_kernel<GemmTraits{.mma_m = 256, .mma_n = 256, .cta_group = 2, .cluster_m = 2}>(),
      instantiate_kernel<GemmTraits{
          .mma_m = 256, .mma_n = 128, .cta_group = 2, .cluster_m = 2, .k_group_size = 2}>(),
  };
}

}  // namespace bw::detail
