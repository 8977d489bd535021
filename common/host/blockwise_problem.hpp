#pragma once
/// \file
/// Inputs of the blockwise-scaled FP8 GEMM: D [M, N] = A [M, K] · B [N, K]ᵀ + beta · C [M, N].

#include <cstdint>
#include <vector>

#include "common/device/scale_block.cuh"
#include "common/host/number_formats.hpp"

namespace bw {

/// An FP8 matrix [rows, k], row-major, dense, with one fp32 scale per block.
struct QuantisedMatrix {
  int64_t rows = 0;             ///< number of rows
  int64_t k = 0;                ///< elements of a row
  std::vector<Fp8E4m3> values;  ///< [rows, k], K contiguous
  std::vector<float> scales;    ///< one for each block
  int64_t scales_stride = 0;    ///< elements from one row of `scales` to the next
};

/// How A, B and C are filled.
enum class Fill {
  kNormal,     ///< normal random bf16; A and B quantised per block
  kPositionC,  ///< A = 0, and every C tells its position: D must be bf16(beta · C)
};

/// One problem on the host.
struct BlockwiseProblem {
  int64_t m;            ///< rows of A, C and D
  int64_t n;            ///< rows of B, columns of C and D
  int64_t k;            ///< columns of A and B
  float beta;           ///< factor of C
  Fill fill;            ///< what the matrices are filled with
  QuantisedMatrix a;    ///< scales [ceil(K/128), M], M contiguous, stride a multiple of 4
  QuantisedMatrix b;    ///< scales [ceil(N/128), ceil(K/128)], K contiguous
  std::vector<Bf16> c;  ///< [M, N]; empty when beta is 0
};

/// An element of a matrix, as a function of its row and column. It refers to the function, which
/// must outlive it.
class ElementSource {
 public:
  /// `function(row, column)` is the element.
  template <class Function>
  ElementSource(const Function& function)
      : function_(&function), call_([](const void* any, int64_t row, int64_t column) {
          return static_cast<float>((*static_cast<const Function*>(any))(row, column));
        }) {}

  /// The element.
  float operator()(int64_t row, int64_t column) const { return call_(function_, row, column); }

 private:
  const void* function_;
  float (*call_)(const void* function, int64_t row, int64_t column);
};

/// Quantises the block of rows [row, row_end) × columns [k, k_end) of `source` in place of the same
/// block of `matrix`; returns its scale. Values are bf16 before they are quantised. The scale is
/// chosen as inference engines do: the largest magnitude maps to the largest FP8, and blocks of
/// (nearly) nothing don't divide by zero.
float quantise_block(QuantisedMatrix& matrix, const ElementSource& source, int64_t row,
                     int64_t row_end, int64_t k, int64_t k_end);

/// A: one scale per row and 128 columns, stored [ceil(K/128), M] with a stride that TMA takes
/// (a multiple of 4 elements).
QuantisedMatrix quantise_1x128(int64_t rows, int64_t k, const ElementSource& source);

/// B: one scale per 128 × 128, stored [ceil(N/128), ceil(K/128)].
QuantisedMatrix quantise_128x128(int64_t rows, int64_t k, const ElementSource& source);

/// A finite bf16 that tells (row, column): 2^14 values, distinct within any 125 × 131 elements, of
/// both signs and of 64 exponents around 1, so that neither a swapped tile nor a shifted row or
/// column goes unnoticed.
Bf16 position_code(int64_t row, int64_t column);

/// Makes the operands of `m` × `n` × `k` from `seed`. C is made only when beta isn't 0.
BlockwiseProblem make_blockwise_problem(int64_t m, int64_t n, int64_t k, float beta, uint64_t seed,
                                        Fill fill);

}  // namespace bw
