/// \file
/// Tiles of 64 rows, one CTA each: for few rows of A.
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"

namespace bw::detail {

std::vector<GemmKernel> half_tile_kernels() {
  return {
      instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = 128}>(),
      instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = 112}>(),
  };
}

}  // namespace bw::detail
