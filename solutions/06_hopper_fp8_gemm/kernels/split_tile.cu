#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"

namespace bw::hopper::detail {

GemmKernel split_tile() {
  constexpr GemmTraits kTraits{.tile_m = 64,
                               .tile_n = 128,
                               .mma_n = 64,
                               .warpgroups_along_n = 2,
                               .stages = 7,
                               .split_k = 4,
                               .output_slots = 1,
                               .direct_output = true};
  return instantiate_kernel<kTraits>();
}

}  // namespace bw::hopper::detail
