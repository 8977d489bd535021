#pragma once
/// \file
/// cuBLASLt's blockwise-scaled FP8 matmul for the workbook's argument type: the peer that chapter
/// 6's kernel is compared with.
///
/// cuBLASLt is column-major: our row-major D [M, N] = A · Bᵀ is its D' [N, M] = B'ᵀ · A' with our
/// B as its first operand (scale mode BLK128x128_32F) and our A as its second (VEC128_32F). Its
/// scales: one fp32 per row of A and 128 columns, M contiguous; one per 128 × 128 of B, the rows
/// padded to a multiple of 4 (cuBLAS documentation, "1D and 2D Block Scaling with 128 elements").

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/host/device_buffer.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"

namespace bw {

/// The version of the library in use, such as "13.1.0".
std::string cublaslt_version();

/// One problem, with the algorithms that cuBLASLt's heuristic proposes for it.
class CublasLtMatmul {
 public:
  /// `gemm` as for our kernel, but dense in its A-scales, and D is written to `d` [M, gemm.ldd].
  /// Its pointers are used until this object ends. Throws Error for what cuBLASLt reports.
  CublasLtMatmul(const BlockwiseFp8GemmArguments& gemm, Bf16* d, int most_algorithms = 16);
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;
  ~CublasLtMatmul();

  /// How many algorithms there are; 0: cuBLASLt does not support the problem.
  int algorithms() const { return static_cast<int>(algorithms_.size()); }

  /// Enqueues the matmul by an algorithm. Throws Error when cuBLASLt refuses.
  void run(int algorithm, cudaStream_t stream) const;

 private:
  void describe_problem(const BlockwiseFp8GemmArguments& gemm);
  void find_algorithms(int most);

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, residual_ = nullptr,
                         result_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  DeviceBuffer<float> padded_scales_;
  DeviceBuffer<uint8_t> workspace_;
  const Fp8E4m3 *a_, *b_;
  const Bf16* c_;
  Bf16* d_;
  float beta_;
};

}  // namespace bw
