#pragma once
/// \file
/// Compiles a kernel where it is named.

#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm_kernel.cuh"

namespace bw::hopper::detail {

/// Instantiates the kernel of `traits`.
template <GemmTraits traits>
GemmKernel instantiate_kernel() {
  using Config = GemmConfig<traits>;
  return GemmKernel{gemm_kernel_name(traits), traits, sizeof(typename Config::SharedStorage),
                    reinterpret_cast<const void*>(hopper_fp8_gemm_kernel<Config>)};
}

}  // namespace bw::hopper::detail
