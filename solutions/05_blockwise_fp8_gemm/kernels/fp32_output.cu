/// \file
/// D of fp32.
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

namespace bw::detail {

std::vector<GemmKernel> fp32_output_kernels() {
  return {
      instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = 128, .output = OutputType::kFp32}>(),
      instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = 96, .output = OutputType::kFp32}>(),
      instantiate_kernel<GemmTraits{.mma_m = 256,
                                    .mma_n = 128,
                                    .cta_group = 2,
                                    .cluster_m = 2,
                                    .output = OutputType::kFp32}>(),
  };
}

}  // namespace bw::detail
