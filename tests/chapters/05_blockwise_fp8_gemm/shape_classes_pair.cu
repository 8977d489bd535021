/// \file
/// Pairs, every N except those of the library: multiples of 32.
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
#include "tests/chapters/05_blockwise_fp8_gemm/shape_classes.hpp"

namespace bw::test {

namespace {

template <int mma_m, int... mma_n>
std::vector<GemmKernel> with_columns() {
  return {detail::instantiate_kernel<GemmTraits{
      .mma_m = mma_m, .mma_n = mma_n, .cta_group = 2, .cluster_m = 2}>()...};
}

}  // namespace

std::vector<GemmKernel> pair_kernels() {
  std::vector<GemmKernel> kernels = with_columns<256, 32, 64, 96, 160, 192>();
  for (GemmKernel& kernel : with_columns<128, 32, 64, 96, 128, 160, 192>()) {
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace bw::test
