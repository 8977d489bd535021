#pragma once
/// \file
/// From validated arguments to a launch of the Hopper kernel.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_gemm_arguments.cuh"
#include "solutions/06_hopper_fp8_gemm/summation_order.hpp"

namespace bw::hopper {

/// Everything about a launch but its stream.
struct PreparedGemm {
  HopperGemmArguments arguments;  ///< of the kernel
  GemmChoice choice;              ///< the kernel, and the order of its CTAs
  uint32_t clusters;              ///< of the grid

  /// The chosen configuration.
  [[nodiscard]] const GemmKernel& kernel() const { return *choice.kernel; }
};

/// Encodes the tensor maps and sizes the grid for the current device. `gemm` has been validated.
/// Throws Error for what CUDA reports.
PreparedGemm prepare_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice);

/// In which parts of K it sums the elements of D.
SummationOrder summation_order(const PreparedGemm& prepared);

/// Bytes of device memory that a launch needs for itself: 0 without stream_k.
size_t workspace_bytes(const PreparedGemm& prepared);

/// Gives it that memory, `workspace_bytes` at `memory`, 16-byte aligned, and clears in the order of
/// `stream` what must be clear before the first launch.
void attach_workspace(PreparedGemm& prepared, void* memory, cudaStream_t stream);

/// Enqueues the kernel. Throws Error for what CUDA reports.
void launch_gemm(const PreparedGemm& prepared, cudaStream_t stream);

}  // namespace bw::hopper
