#pragma once
/// \file
/// What all roles of a CTA share.

#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_config.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_arguments.cuh"

namespace bw {

/// One CTA: chapter 5's, and the arguments that are new.
template <class Config>
struct BlockScaledCta : GemmCta<Config> {
  const BlockScaledKernelArguments& scaled;  ///< all of the kernel's arguments
};

}  // namespace bw
