/// \file
/// Clusters of pairs.
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

namespace bw::detail {

std::vector<GemmKernel> pair_cluster_kernels() {
  return {
      instantiate_kernel<GemmTraits{.mma_m = 256,
                                    .mma_n = 192,
                                    .cta_group = 2,
                                    .cluster_m = 2,
                                    .cluster_n = 2,
                                    .scheduling = TileScheduling::kLaunchControl}>(),
      instantiate_kernel<GemmTraits{
          .mma_m = 256, .mma_n = 256, .cta_group = 2, .cluster_m = 4, .cluster_n = 2}>(),
      instantiate_kernel<GemmTraits{.mma_m = 256,
                                    .mma_n = 256,
                                    .cta_group = 2,
                                    .cluster_m = 4,
                                    .cluster_n = 2,
                                    .scheduling = TileScheduling::kLaunchControl}>(),
      instantiate_kernel<GemmTraits{
          .mma_m = 256, .mma_n = 128, .cta_group = 2, .cluster_m = 4, .cluster_n = 4}>(),
      instantiate_kernel<GemmTraits{
          .mma_m = 128, .mma_n = 128, .cta_group = 2, .cluster_m = 8, .cluster_n = 2}>(),
  };
}

}  // namespace bw::detail
