#include <vector>

#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/swap_ab_kernel.cuh"

namespace bw::hopper::detail {
namespace {

/// A tile of `rows` rows. As many stages as fit, with the sums, `resident_ctas` times.
constexpr GemmTraits swap_ab_traits(int rows, int stages, int resident_ctas) {
  return {.tile_m = rows,
          .tile_n = kMmaRows,
          .stages = stages,
          .swap_ab = true,
          .resident_ctas = resident_ctas};
}

/// Instantiates the kernel of `traits`, and appends a configuration for each split of K.
template <GemmTraits traits>
void append_splits(std::vector<GemmKernel>& kernels) {
  using Config = SwapAbConfig<traits>;
  for (int split = 1; Config::divides(split); split *= 2) {
    GemmTraits of_split = traits;
    of_split.split_k = split;
    kernels.push_back({gemm_kernel_name(of_split), of_split, Config::shared_bytes(split),
                       reinterpret_cast<const void*>(swap_ab_kernel<Config>)});
  }
}

}  // namespace

std::vector<GemmKernel> swap_ab_tiles() {
  std::vector<GemmKernel> kernels;
  append_splits<swap_ab_traits(8, 5, 4)>(kernels);
  append_splits<swap_ab_traits(16, 5, 4)>(kernels);
  append_splits<swap_ab_traits(32, 5, 3)>(kernels);
  append_splits<swap_ab_traits(64, 3, 3)>(kernels);
  append_splits<swap_ab_traits(96, 4, 2)>(kernels);
  append_splits<swap_ab_traits(128, 3, 2)>(kernels);
  return kernels;
}

}  // namespace bw::hopper::detail
