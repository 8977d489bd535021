/// \file
/// Two K blocks in each stage of the input ring: every MMA_M, multicast, a pair's clusters, the
/// wide tile of two epilogue groups (of pairs: a single CTA's leaves room for one stage), launch
/// control.
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
#include "tests/chapters/05_blockwise_fp8_gemm/shape_classes.hpp"

namespace bw::test {

std::vector<GemmKernel> grouped_kernels() {
  using detail::instantiate_kernel;
  return {
      instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = 96, .k_group_size = 2}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128,
                                    .mma_n = 128,
                                    .cluster_m = 2,
                                    .cluster_n = 2,
                                    .scheduling = TileScheduling::kLaunchControl,
                                    .k_group_size = 2}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128,
                                    .mma_n = 192,
                                    .cta_group = 2,
                                    .cluster_m = 2,
                                    .cluster_n = 2,
                                    .k_group_size = 2}>(),
      instantiate_kernel<GemmTraits{
          .mma_m = 256, .mma_n = 256, .cta_group = 2, .cluster_m = 2, .k_group_size = 2}>(),
  };
}

}  // namespace bw::test
