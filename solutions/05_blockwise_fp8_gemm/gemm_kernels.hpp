#pragma once
/// \file
/// The kernels that the library ships, by name, and the choice among them.

#include <cstdint>
#include <vector>

#include "common/host/kernel_description.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_traits.hpp"

namespace bw {

/// One compiled kernel and what a launch of it needs.
struct GemmKernel {
  /// `<cta_group>_<MMA_M>x<MMA_N>_<cluster M>x<cluster N>[_clc][_fp32][_kgroup<size>]`
  const char* name;
  GemmTraits traits;                ///< what it is compiled for
  int slice_columns;                ///< columns of the boxes of C and D
  int slices_per_tile;              ///< that one epilogue thread's columns are written in
  int accumulator_columns;          ///< of tensor memory, for one K block
  int accumulator_stages;           ///< K blocks that tensor memory holds
  uint32_t threads;                 ///< of a CTA
  uint32_t shared_bytes;            ///< dynamic shared memory
  const void* function;             ///< entry, taking GemmKernelArguments
  KernelDescription (*describe)();  ///< what it is made of

  /// Columns of D that one epilogue thread has.
  int thread_columns() const { return slices_per_tile * slice_columns; }
};

/// The name that `traits` have, for as long as the program runs.
const char* gemm_kernel_name(const GemmTraits& traits);

/// All kernels; the more general ones first.
const std::vector<GemmKernel>& gemm_kernels();

/// The kernel called `name`. Throws Error, with all names, if none has it.
const GemmKernel& find_gemm_kernel(const char* name);

/// The kernel for D [m, n] of type `output` and K = `k` on `multiprocessors` SMs that
/// modelled_cycles (gemm_cost_model.hpp) finds fastest. Of equals the first.
const GemmKernel& choose_gemm_kernel(int64_t m, int64_t n, int64_t k, OutputType output,
                                     int multiprocessors);

}  // namespace bw
