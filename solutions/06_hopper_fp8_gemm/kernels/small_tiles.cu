#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {

std::vector<GemmKernel> small_tiles() {
  constexpr GemmTraits kSplit = [] {
    GemmTraits traits = with_split_k(kSmallTile, 2, kSmallTile.stages);
    traits.fences_together = true;
    return traits;
  }();
  return {instantiate_kernel<kSmallTile>(), instantiate_kernel<without_cluster(kSmallTile)>(),
          instantiate_kernel<kSplit>()};
}

}  // namespace bw::hopper::detail
