#pragma once
/// \file
/// Compiles a kernel where it is named.

#include "solutions/06_hopper_fp8_gemm/describe_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_kernel.cuh"

namespace bw::hopper::detail {

/// Instantiates the kernel of `traits`.
template <GemmTraits traits>
GemmKernel instantiate_kernel() {
  using Config = GemmConfig<traits>;
  return GemmKernel{gemm_kernel_name(traits), traits, sizeof(typename Config::SharedStorage),
                    reinterpret_cast<const void*>(hopper_fp8_gemm_kernel<Config>),
                    [](int) { return describe_gemm<Config>(); }};
}

/// The same of one with swap_ab, for clusters of `split` CTAs.
template <GemmTraits traits>
GemmKernel instantiate_swap_ab_kernel(int split = 1) {
  using Config = SwapAbConfig<traits>;
  GemmTraits of_split = traits;
  of_split.split_k = split;
  return GemmKernel{gemm_kernel_name(of_split), of_split, Config::shared_bytes(split),
                    reinterpret_cast<const void*>(swap_ab_kernel<Config>),
                    describe_swap_ab<Config>};
}

}  // namespace bw::hopper::detail
