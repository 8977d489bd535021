#pragma once
/// \file
/// The kernels that the library ships, by name, and the choice among them.

#include <cstdint>
#include <string>
#include <vector>

#include "solutions/05_blockwise_fp8_gemm/gemm_traits.hpp"

namespace bw {

/// One compiled kernel and what a launch of it needs.
struct GemmKernel {
  /// `<cta_group>_<MMA_M>x<MMA_N>_<cluster M>x<cluster N>[_clc][_fp32]`
  std::string name;
  GemmTraits traits;
  int slice_columns;      ///< columns of the boxes of C and D
  uint32_t threads;       ///< of a CTA
  uint32_t shared_bytes;  ///< dynamic shared memory
  const void* function;   ///< entry, taking GemmKernelArguments
};

/// The name that `traits` have.
std::string gemm_kernel_name(const GemmTraits& traits);

/// All kernels; the more general ones first.
const std::vector<GemmKernel>& gemm_kernels();

/// The kernel called `name`. Throws Error, with all names, when there is none.
const GemmKernel& find_gemm_kernel(const std::string& name);

/// The kernel that a simple model finds fastest for D [m, n] of type `output` on
/// `multiprocessors` SMs: the time goes with the number of waves and with what a CTA computes in
/// one. Of equals the first.
const GemmKernel& choose_gemm_kernel(int64_t m, int64_t n, OutputType output, int multiprocessors);

}  // namespace bw
