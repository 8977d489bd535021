#include <vector>

#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {
namespace {

/// Instantiates the kernel of `traits`, and appends a configuration for each split of K.
template <GemmTraits traits>
void append_splits(std::vector<GemmKernel>& kernels) {
  for (int split = 1; SwapAbConfig<traits>::divides(split); split *= 2) {
    kernels.push_back(instantiate_swap_ab_kernel<traits>(split));
  }
}

}  // namespace

std::vector<GemmKernel> swap_ab_tiles() {
  std::vector<GemmKernel> kernels;
  append_splits<swap_ab_traits(8, 5, 4)>(kernels);
  append_splits<swap_ab_traits(16, 5, 4)>(kernels);
  append_splits<swap_ab_traits(32, 4, 4)>(kernels);
  append_splits<swap_ab_traits(64, 3, 3)>(kernels);
  append_splits<swap_ab_traits(64, 6, 2, true)>(kernels);
  append_splits<swap_ab_traits(96, 4, 2, true)>(kernels);
  append_splits<swap_ab_traits(128, 3, 2)>(kernels);
  return kernels;
}

}  // namespace bw::hopper::detail
