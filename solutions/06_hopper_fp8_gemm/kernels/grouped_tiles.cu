#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {
namespace {

constexpr GemmTraits grouped(GemmTraits traits) {
  traits.grouped = true;
  return without_cluster(traits);
}

}  // namespace

std::vector<GemmKernel> grouped_tiles() {
  constexpr GemmTraits kFewRows = grouped(swap_ab_traits(16, 5, 4));
  constexpr GemmTraits kSomeRows = grouped(swap_ab_traits(64, 6, 2, /*two_products=*/true));
  return {instantiate_swap_ab_kernel<kFewRows>(), instantiate_swap_ab_kernel<kSomeRows>(),
          instantiate_kernel<grouped(kSmallTile)>(), instantiate_kernel<grouped(kNarrowTile)>(),
          instantiate_kernel<grouped(kWideTile)>()};
}

}  // namespace bw::hopper::detail
