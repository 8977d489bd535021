/// \file
/// Tiles of 128 rows, one CTA each.
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

namespace bw::detail {

std::vector<GemmKernel> single_cta_kernels() {
  return {
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 128}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 96}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 256}>(),
      instantiate_kernel<GemmTraits{
          .mma_m = 128, .mma_n = 128, .scheduling = TileScheduling::kLaunchControl}>(),
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 128, .k_group_size = 2}>(),
  };
}

}  // namespace bw::detail
