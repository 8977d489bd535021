#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {
namespace {

constexpr GemmTraits grouped(GemmTraits traits) {
  traits.grouped = true;
  return without_cluster(traits);
}

}  // namespace

std::vector<GemmKernel> grouped_tiles() {
  constexpr GemmTraits kWide = grouped(kWideTile);
  constexpr GemmTraits kSmall{.tile_m = 128,
                              .tile_n = 64,
                              .mma_n = 64,
                              .stages = 8,
                              .output_slots = 1,
                              .direct_output = true,
                              .grouped = true};
  return {instantiate_kernel<kWide>(), instantiate_kernel<kSmall>()};
}

}  // namespace bw::hopper::detail
