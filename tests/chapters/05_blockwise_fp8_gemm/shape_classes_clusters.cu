/// \file
/// Every cluster with one CTA per tile.
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
#include "tests/chapters/05_blockwise_fp8_gemm/shape_classes.hpp"

namespace bw::test {

std::vector<GemmKernel> cluster_kernels() {
  return {
      detail::instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 128, .cluster_m = 2}>(),
      detail::instantiate_kernel<GemmTraits{
          .mma_m = 128, .mma_n = 64, .cluster_m = 2, .cluster_n = 2}>(),
      detail::instantiate_kernel<GemmTraits{
          .mma_m = 128, .mma_n = 128, .cluster_m = 4, .cluster_n = 4}>(),
      detail::instantiate_kernel<GemmTraits{
          .mma_m = 128, .mma_n = 64, .cluster_m = 8, .cluster_n = 2}>(),
      detail::instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = 128, .cluster_m = 2}>(),
      detail::instantiate_kernel<GemmTraits{.mma_m = 64,
                                            .mma_n = 64,
                                            .cluster_m = 2,
                                            .cluster_n = 2,
                                            .scheduling = TileScheduling::kLaunchControl}>(),
      detail::instantiate_kernel<GemmTraits{.mma_m = 64,
                                            .mma_n = 128,
                                            .cluster_m = 4,
                                            .cluster_n = 4,
                                            .scheduling = TileScheduling::kLaunchControl,
                                            .output = OutputType::kFp32}>(),
      detail::instantiate_kernel<GemmTraits{
          .mma_m = 64, .mma_n = 128, .cluster_m = 8, .cluster_n = 2}>(),
      detail::instantiate_kernel<GemmTraits{.mma_m = 128,
                                            .mma_n = 256,
                                            .cluster_m = 2,
                                            .cluster_n = 2,
                                            .scheduling = TileScheduling::kLaunchControl,
                                            .output = OutputType::kFp32}>(),
  };
}

}  // namespace bw::test
