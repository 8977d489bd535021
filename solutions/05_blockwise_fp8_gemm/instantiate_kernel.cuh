#pragma once
/// \file
/// Compiles a kernel where it is named.

#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm_kernel.cuh"
#include "solutions/05_blockwise_fp8_gemm/describe_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw::detail {

/// Instantiates the kernel of `traits`.
template <GemmTraits traits>
GemmKernel instantiate_kernel() {
  using Config = GemmConfig<traits>;
  return GemmKernel{gemm_kernel_name(traits),
                    traits,
                    Config::Slice::kColumns,
                    Config::Slice::kPerTile,
                    Config::Accumulator::Layout::kTmemColumns,
                    Config::kNumAccumulatorStages,
                    Config::Roles::kThreads,
                    shared_bytes_for_all_columns(sizeof(typename Config::SharedStorage)),
                    reinterpret_cast<const void*>(blockwise_fp8_gemm_kernel<Config>),
                    describe_gemm<Config>};
}

}  // namespace bw::detail
