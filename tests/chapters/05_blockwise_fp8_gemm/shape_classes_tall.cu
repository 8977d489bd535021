/// \file
/// MMA_M = 128, every N except those of the library: multiples of 16 that touch at most two B-scale
/// blocks.
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
#include "tests/chapters/05_blockwise_fp8_gemm/shape_classes.hpp"

namespace bw::test {

namespace {

template <int... mma_n>
std::vector<GemmKernel> tall_with_columns() {
  return {detail::instantiate_kernel<GemmTraits{.mma_m = 128, .mma_n = mma_n}>()...};
}

}  // namespace

std::vector<GemmKernel> tall_kernels() {
  return tall_with_columns<16, 32, 48, 64, 80, 112, 144, 160, 192>();
}

}  // namespace bw::test
