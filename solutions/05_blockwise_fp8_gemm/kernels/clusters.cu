/// \file
/// Clusters that share A and B by multicast, one CTA per tile.
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

namespace bw::detail {

std::vector<GemmKernel> cluster_kernels() {
  return {
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 192, .cluster_m = 2}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128,
                                    .mma_n = 128,
                                    .cluster_m = 2,
                                    .cluster_n = 2,
                                    .scheduling = TileScheduling::kLaunchControl}>(),
      instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = 256, .cluster_m = 4, .cluster_n = 4}>(),
  };
}

}  // namespace bw::detail
