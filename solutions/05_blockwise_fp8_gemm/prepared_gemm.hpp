#pragma once
/// \file
/// The GEMM in two steps: what is prepared once, and the launch.

#include <cuda_runtime_api.h>

#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw {

/// A GEMM that is ready to run: its arguments are checked, its tensor maps made, its kernel loaded
/// and configured. A time that starts after this is the kernel's own.
class PreparedGemm {
 public:
  /// Throws Error as blockwise_fp8_gemm does. The arguments' memory stays alive until the last
  /// launch is done.
  PreparedGemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel);
  /// Enqueues the kernel on `stream`, as often as is liked. `is_dependent`: it may start while the
  /// stream's previous kernel still runs. Throws Error for what CUDA reports.
  void launch(cudaStream_t stream, bool is_dependent = true) const;

 private:
  const GemmKernel& kernel_;
  GemmKernelArguments arguments_;
  dim3 grid_;
};

}  // namespace bw
