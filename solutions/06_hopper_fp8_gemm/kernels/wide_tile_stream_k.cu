#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"

namespace bw::hopper::detail {

GemmKernel wide_tile_stream_k() {
  constexpr GemmTraits kTraits{.tile_m = 128,
                               .tile_n = 256,
                               .mma_n = 128,
                               .stages = 4,
                               .cluster_m = 2,
                               .output_slots = 2,
                               .writes_behind = true,
                               .stream_k = true};
  return instantiate_kernel<kTraits>();
}

}  // namespace bw::hopper::detail
