#include <initializer_list>
#include <vector>

#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {
namespace {

/// Instantiates the kernel of `traits`, and appends a configuration for each split of K.
template <GemmTraits traits>
void append_splits(std::vector<GemmKernel>& kernels, std::initializer_list<int> splits) {
  for (const int split : splits) {
    if (!SwapAbConfig<traits>::divides(split)) return;
    kernels.push_back(instantiate_swap_ab_kernel<traits>(split));
  }
}

}  // namespace

std::vector<GemmKernel> swap_ab_tiles() {
  std::vector<GemmKernel> kernels;
  append_splits<swap_ab_traits(8, 5, 4)>(kernels, {1, 2});
  append_splits<swap_ab_traits(16, 5, 4)>(kernels, {1, 2, 4});
  append_splits<swap_ab_traits(32, 4, 4)>(kernels, {1, 4});
  append_splits<swap_ab_traits(32, 8, 2)>(kernels, {1});
  append_splits<swap_ab_traits(32, 16, 1, true)>(kernels, {1, 2, 3});
  append_splits<swap_ab_traits(64, 3, 3)>(kernels, {1, 4});
  append_splits<swap_ab_traits(64, 12, 1, true)>(kernels, {3});
  return kernels;
}

}  // namespace bw::hopper::detail
