#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {

std::vector<GemmKernel> half_tiles() {
  constexpr GemmTraits kNarrow{.tile_m = 64,
                               .tile_n = 64,
                               .mma_n = 32,
                               .warpgroups_along_n = 2,
                               .stages = 12,
                               .output_slots = 1,
                               .direct_output = true,
                               .laps = 1};
  constexpr GemmTraits kWide{.tile_m = 64,
                             .tile_n = 256,
                             .mma_n = 128,
                             .warpgroups_along_n = 2,
                             .stages = 5,
                             .output_slots = 1,
                             .direct_output = true,
                             .laps = 1};
  return {
      instantiate_kernel<kNarrow>(), instantiate_kernel<with_split_k(kNarrow, 2, kNarrow.stages)>(),
      instantiate_kernel<with_split_k(kNarrow, 3, kNarrow.stages)>(), instantiate_kernel<kWide>()};
}

}  // namespace bw::hopper::detail
