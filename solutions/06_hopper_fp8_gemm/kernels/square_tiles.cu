#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {

std::vector<GemmKernel> square_tiles() {
  constexpr int kSplitStages = 5;
  return {instantiate_kernel<kSquareTile>(), instantiate_kernel<without_cluster(kSquareTile)>(),
          instantiate_kernel<with_split_k(kSquareTile, 2, kSplitStages)>()};
}

}  // namespace bw::hopper::detail
