#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {
namespace {

/// The small tile with more columns, without a cluster.
constexpr GemmTraits with_columns(int columns, int stages) {
  GemmTraits traits = without_cluster(kSmallTile);
  traits.tile_n = traits.mma_n = columns;
  traits.stages = stages;
  return traits;
}

}  // namespace

std::vector<GemmKernel> between_tiles() {
  return {instantiate_kernel<with_columns(96, 7)>(), instantiate_kernel<with_columns(144, 6)>()};
}

}  // namespace bw::hopper::detail
