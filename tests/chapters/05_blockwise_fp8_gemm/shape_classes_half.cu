/// \file
/// MMA_M = 64, every N except those of the library.
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
#include "tests/chapters/05_blockwise_fp8_gemm/shape_classes.hpp"

namespace bw::test {

namespace {

template <int... mma_n>
std::vector<GemmKernel> half_with_columns() {
  return {detail::instantiate_kernel<GemmTraits{.mma_m = 64, .mma_n = mma_n}>()...};
}

}  // namespace

std::vector<GemmKernel> half_kernels() {
  return half_with_columns<16, 32, 48, 64, 80, 96, 144, 160, 192, 256>();
}

}  // namespace bw::test
