#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {

std::vector<GemmKernel> small_tiles() {
  return {instantiate_kernel<kSmallTile>(), instantiate_kernel<without_cluster(kSmallTile)>(),
          instantiate_kernel<with_split_k(kSmallTile, kSmallTile.stages)>()};
}

}  // namespace bw::hopper::detail
