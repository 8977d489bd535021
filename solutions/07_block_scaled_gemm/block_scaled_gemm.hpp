#pragma once
/// \file
/// Host interface of the block-scaled GEMM.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "common/device/block_format.cuh"
#include "common/host/number_formats.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_kernel_arguments.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_kernels.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_output.hpp"

namespace bw {

/// D [M, N] = factor · (A [M, K] · B [N, K]ᵀ, each element scaled by its block's scale) + beta ·
/// C [M, N]. Pointers are device addresses.
struct BlockScaledGemmArguments {
  BlockFormat format;       ///< of A and B
  int64_t m;                ///< rows of A, C and D
  int64_t n;                ///< rows of B, columns of C and D
  int64_t k;                ///< elements of a row of A and B, a multiple of 32
  const uint8_t* a;         ///< [M], rows `a_stride` bytes apart
  int64_t a_stride;         ///< a multiple of 16
  const uint8_t* b;         ///< [N], rows `b_stride` bytes apart
  int64_t b_stride;         ///< a multiple of 16
  const uint8_t* a_scales;  ///< atoms, as lay_out_scales gives them; none may be NaN
  int64_t a_scale_bytes;    ///< bytes of all of them: scale_bytes(m, k / block)
  const uint8_t* b_scales;  ///< atoms of B
  int64_t b_scale_bytes;    ///< bytes of all of them
  float factor;             ///< the product of the factors of A and B
  const Bf16* c;            ///< [M, ldc], ldc a multiple of 8; not read when beta is 0
  int64_t ldc;              ///< elements from row to row of C
  Bf16* d;                  ///< [M, ldd]; may be C itself. Chapter 5's D says what TMA may write
  int64_t ldd;              ///< elements from row to row of D, a multiple of 8
  float beta;               ///< factor of the residual C; 0: the product has no C
  std::optional<QuantisedOutput> quantised = {};  ///< D in another format: `d` isn't used then
};

/// Throws Error for the first condition that `arguments` breaks.
void validate_block_scaled_arguments(const BlockScaledGemmArguments& arguments);

/// A GEMM that is ready to run: its arguments are checked, its tensor maps made, its kernel loaded.
class PreparedBlockScaledGemm {
 public:
  /// Throws Error for arguments that validate_block_scaled_arguments refuses, a kernel of another
  /// format, and a device that can't run it. The arguments' memory stays alive until the last
  /// launch is done.
  PreparedBlockScaledGemm(const BlockScaledGemmArguments& gemm, const BlockScaledKernel& kernel);
  /// Enqueues the kernel on `stream`. Throws Error for what CUDA reports.
  void launch(cudaStream_t stream) const;

 private:
  const BlockScaledKernel& kernel_;
  BlockScaledKernelArguments arguments_;
  dim3 grid_;
};

}  // namespace bw
