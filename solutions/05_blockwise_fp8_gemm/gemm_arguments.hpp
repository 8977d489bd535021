#pragma once
/// \file
/// What the caller of the GEMM gives, and what is checked before anything is launched.

#include <cstdint>

#include "common/device/scale_block.cuh"
#include "common/host/gemm_checks.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/require.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_traits.hpp"

namespace bw {

/// D [M, N] = (A [M, K] · B [N, K]ᵀ, each product scaled by its blocks' scales) + beta · C [M, N].
/// Pointers are device addresses; leading dimensions are in elements.
struct BlockwiseFp8GemmArguments {
  int64_t m;              ///< rows of A, C and D
  int64_t n;              ///< rows of B, columns of C and D
  int64_t k;              ///< columns of A and B
  const Fp8E4m3* a;       ///< [M, lda], lda a multiple of 16
  int64_t lda;            ///< elements from row to row of A
  const Fp8E4m3* b;       ///< [N, ldb], ldb a multiple of 16
  int64_t ldb;            ///< elements from row to row of B
  const float* a_scales;  ///< [ceil(K/128), lda_scales], one per row of A; a multiple of 4
  int64_t lda_scales;     ///< elements from K block to K block of the A-scales
  const float* b_scales;  ///< [ceil(N/128), ldb_scales], one per 128 × 128 of B
  int64_t ldb_scales;     ///< elements from row block to row block of the B-scales
  const Bf16* c;          ///< [M, ldc], ldc a multiple of 8; not read when beta is 0
  int64_t ldc;            ///< elements from row to row of C
  /// bf16 or fp32 [M, ldd], rows a multiple of 16 bytes; bf16 D may be C itself. TMA may write the
  /// bytes between a row's last element and the next multiple of 16 bytes.
  void* d;
  int64_t ldd;                            ///< elements from row to row of D
  float beta;                             ///< factor of the residual C; 0: no C
  OutputType output = OutputType::kBf16;  ///< element type of D

  /// Bytes of an element of D.
  constexpr int64_t output_bytes() const { return output == OutputType::kBf16 ? 2 : 4; }
};

/// Throws Error for the first condition that `arguments` breaks.
inline void validate_gemm_arguments(const BlockwiseFp8GemmArguments& arguments) {
  const auto& [m, n, k, a, lda, b, ldb, a_scales, lda_scales, b_scales, ldb_scales, c, ldc, d, ldd,
               beta, output] = arguments;
  validate_gemm_shape(m, n, k);
  const int64_t k_blocks = (k + kScaleBlock - 1) / kScaleBlock;
  validate_tma_matrix("A", a, k, lda, sizeof(Fp8E4m3));
  validate_tma_matrix("B", b, k, ldb, sizeof(Fp8E4m3));
  validate_tma_matrix("The matrix of A-scales", a_scales, m, lda_scales, sizeof(float));
  validate_tma_matrix("D", d, n, ldd, arguments.output_bytes());
  require(b_scales != nullptr, "The B-scales are a null pointer; give a device address.");
  require(reinterpret_cast<uintptr_t>(b_scales) % sizeof(float) == 0, "The B-scales start at ",
          b_scales, "; the address of an fp32 is a multiple of 4.");
  require(ldb_scales >= k_blocks, "The B-scales have rows ", ldb_scales, " elements apart; K = ", k,
          " has ", k_blocks, " blocks of 128, one scale each.");
  require(beta == 0 || c != nullptr, "beta is ", beta,
          " but C is a null pointer; give C, or beta = 0.");
  if (beta != 0) validate_tma_matrix("C", c, n, ldc, sizeof(Bf16));
  require(
      beta == 0 || d != static_cast<const void*>(c) || (output == OutputType::kBf16 && ldc == ldd),
      "D is C itself, but their elements or leading dimensions (", ldd, " and ", ldc,
      ") differ: tiles would overwrite what others still read. Give D memory of its own.");
}

}  // namespace bw
