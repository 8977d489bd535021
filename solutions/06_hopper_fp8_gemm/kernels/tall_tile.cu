#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"

namespace bw::hopper::detail {

GemmKernel tall_tile() {
  constexpr GemmTraits kTraits{.tile_m = 256,
                               .tile_n = 128,
                               .mma_n = 128,
                               .stages = 3,
                               .cluster_m = 2,
                               .output_slots = 4,
                               .output_group = 2};
  return instantiate_kernel<kTraits>();
}

}  // namespace bw::hopper::detail
