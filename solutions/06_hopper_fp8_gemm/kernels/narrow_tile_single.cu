#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {

GemmKernel narrow_tile_single() { return instantiate_kernel<without_cluster(kNarrowTile)>(); }

}  // namespace bw::hopper::detail
