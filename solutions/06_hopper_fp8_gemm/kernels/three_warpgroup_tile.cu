#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"

namespace bw::hopper::detail {

GemmKernel three_warpgroup_tile() {
  constexpr GemmTraits kTraits{.tile_m = 192,
                               .tile_n = 128,
                               .mma_n = 128,
                               .math_warpgroups = 3,
                               .stages = 4,
                               .cluster_m = 2};
  return instantiate_kernel<kTraits>();
}

}  // namespace bw::hopper::detail
