#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"

namespace bw::hopper::detail {

GemmKernel small_tile() {
  constexpr GemmTraits kTraits{.tile_m = 128,
                               .tile_n = 64,
                               .mma_n = 64,
                               .stages = 8,
                               .output_slots = 1,
                               .direct_output = true};
  return instantiate_kernel<kTraits>();
}

}  // namespace bw::hopper::detail
