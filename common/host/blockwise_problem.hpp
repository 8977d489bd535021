#pragma once
/// \file
/// Inputs of the blockwise-scaled FP8 GEMM: D [M, N] = A [M, K] · B [N, K]ᵀ + beta · C [M, N].

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/device/scale_block.cuh"
#include "common/host/ceil_div.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/parallel_for.hpp"
#include "common/host/random_normal.hpp"

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

/// Scale of a block whose largest magnitude is `amax`, as inference engines choose it: amax maps
/// to the largest FP8, and blocks of (nearly) nothing don't divide by zero.
inline float block_scale(float amax) {
  constexpr float kMinAmax = 1e-4f;
  return std::max(amax, kMinAmax) / kFp8E4m3Max;
}

/// Quantises the block of rows [row, row_end) × columns [k, k_end) of `source(row, k)` in place of
/// the same block of `matrix`; returns its scale. Values are bf16 before they are quantised.
template <class Source>
float quantise_block(QuantisedMatrix& matrix, const Source& source, int64_t row, int64_t row_end,
                     int64_t k, int64_t k_end) {
  const int64_t width = k_end - k;
  std::vector<float> block((row_end - row) * width);
  float amax = 0;
  for (int64_t i = row; i < row_end; ++i) {
    for (int64_t j = k; j < k_end; ++j) {
      const float value = to_float(to_bf16(source(i, j)));
      block[(i - row) * width + (j - k)] = value;
      amax = std::max(amax, std::fabs(value));
    }
  }
  const float scale = block_scale(amax);
  for (int64_t i = row; i < row_end; ++i) {
    for (int64_t j = k; j < k_end; ++j) {
      matrix.values[i * matrix.k + j] = to_fp8_e4m3(block[(i - row) * width + (j - k)] / scale);
    }
  }
  return scale;
}

/// A: one scale per row and 128 columns, stored [ceil(K/128), M] with a stride that TMA takes
/// (a multiple of 4 elements).
template <class Source>
QuantisedMatrix quantise_1x128(int64_t rows, int64_t k, const Source& source) {
  constexpr int64_t kStrideUnit = 4;
  const int64_t k_blocks = ceil_div(k, kScaleBlock);
  QuantisedMatrix matrix{rows, k, {}, {}, round_up(rows, kStrideUnit)};
  matrix.values.resize(rows * k);
  matrix.scales.resize(k_blocks * matrix.scales_stride);
  parallel_for(rows, [&](int64_t row) {
    for (int64_t block = 0; block < k_blocks; ++block) {
      const int64_t begin = block * kScaleBlock;
      matrix.scales[block * matrix.scales_stride + row] = quantise_block(
          matrix, source, row, row + 1, begin, std::min<int64_t>(begin + kScaleBlock, k));
    }
  });
  return matrix;
}

/// B: one scale per 128 × 128, stored [ceil(N/128), ceil(K/128)].
template <class Source>
QuantisedMatrix quantise_128x128(int64_t rows, int64_t k, const Source& source) {
  const int64_t k_blocks = ceil_div(k, kScaleBlock);
  const int64_t row_blocks = ceil_div(rows, kScaleBlock);
  QuantisedMatrix matrix{rows, k, {}, {}, k_blocks};
  matrix.values.resize(rows * k);
  matrix.scales.resize(row_blocks * k_blocks);
  parallel_for(row_blocks * k_blocks, [&](int64_t block) {
    const int64_t row = block / k_blocks * kScaleBlock;
    const int64_t begin = block % k_blocks * kScaleBlock;
    matrix.scales[block] =
        quantise_block(matrix, source, row, std::min<int64_t>(row + kScaleBlock, rows), begin,
                       std::min<int64_t>(begin + kScaleBlock, k));
  });
  return matrix;
}

/// A finite bf16 that tells (row, column): 2^14 values, distinct within any 125 × 131 elements, of
/// both signs and of 64 exponents around 1, so that neither a swapped tile nor a shifted row or
/// column goes unnoticed.
inline Bf16 position_code(int64_t row, int64_t column) {
  constexpr int64_t kRowStep = 131;  // odd, and more than the columns of a tile
  constexpr uint32_t kExponentBase = 96;
  const uint32_t code = static_cast<uint32_t>((row * kRowStep + column) & 0x3fff);
  const uint32_t sign = code >> 13;
  const uint32_t exponent = kExponentBase + (code >> 7 & 0x3f);
  return Bf16{static_cast<uint16_t>(sign << 15 | exponent << 7 | (code & 0x7f))};
}

/// Makes the operands of `m` × `n` × `k` from `seed`. C is made only when beta isn't 0.
inline BlockwiseProblem make_blockwise_problem(int64_t m, int64_t n, int64_t k, float beta,
                                               uint64_t seed, Fill fill) {
  BlockwiseProblem problem{m, n, k, beta, fill, {}, {}, {}};
  const RandomNormal normal_a(seed, 0), normal_b(seed, 1), normal_c(seed, 2);
  const bool positions = fill == Fill::kPositionC;
  problem.a = quantise_1x128(m, k, [&](int64_t row, int64_t column) {
    return positions ? 0.0f : normal_a(row * k + column);
  });
  problem.b = quantise_128x128(
      n, k, [&](int64_t row, int64_t column) { return normal_b(row * k + column); });
  if (beta != 0) {
    problem.c.resize(m * n);
    parallel_for(m, [&](int64_t row) {
      for (int64_t column = 0; column < n; ++column) {
        problem.c[row * n + column] =
            positions ? position_code(row, column) : to_bf16(normal_c(row * n + column));
      }
    });
  }
  return problem;
}

}  // namespace bw
