#pragma once
/// \file
/// The float64 reference of the blockwise-scaled FP8 GEMM.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/parallel_for.hpp"

namespace bw {

/// What D should be, element by element [M, N].
struct BlockwiseReference {
  std::vector<double> d;          ///< Σ a·b·scales + beta·C, in float64
  std::vector<double> magnitude;  ///< Σ |a·b|·scales: what rounding errors are relative to
};

namespace detail {

constexpr int kReferenceColumns = 8;  ///< columns of D computed together

/// e4m3 codes as float64 (exact).
inline const std::array<double, 256>& fp8_table() {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> values;
    for (int code = 0; code < 256; ++code) {
      values[code] = to_float(Fp8E4m3{static_cast<uint8_t>(code)});
    }
    return values;
  }();
  return table;
}

/// Sums of a row of A with kReferenceColumns columns over one K block. `a`, `abs_a`: `count`
/// values; `panel`, `abs_panel`: count × kReferenceColumns values. The sum in float64 is exact
/// (products of 8 significant bits, 128 of them); the sum of magnitudes, which only scales the
/// tolerance, is in fp32.
inline void block_products(const double* a, const float* abs_a, const double* panel,
                           const float* abs_panel, int64_t count, double* sums, float* abs_sums) {
  double sum[kReferenceColumns] = {};
  float abs_sum[kReferenceColumns] = {};
  for (int64_t k = 0; k < count; ++k) {
    for (int j = 0; j < kReferenceColumns; ++j) {
      sum[j] += a[k] * panel[k * kReferenceColumns + j];
      abs_sum[j] += abs_a[k] * abs_panel[k * kReferenceColumns + j];
    }
  }
  std::copy_n(sum, kReferenceColumns, sums);
  std::copy_n(abs_sum, kReferenceColumns, abs_sums);
}

/// One row of A, decoded.
struct DecodedRows {
  std::vector<double> values;
  std::vector<float> magnitudes;

  explicit DecodedRows(const QuantisedMatrix& matrix)
      : values(matrix.values.size()), magnitudes(matrix.values.size()) {
    const auto& table = fp8_table();
    parallel_for(matrix.rows, [&](int64_t row) {
      for (int64_t i = row * matrix.k; i < (row + 1) * matrix.k; ++i) {
        values[i] = table[matrix.values[i].bits];
        magnitudes[i] = static_cast<float>(std::fabs(values[i]));
      }
    });
  }
};

/// kReferenceColumns rows of B from `column` on, decoded and interleaved [K, kReferenceColumns];
/// rows that B doesn't have are zero.
struct DecodedPanel {
  std::vector<double> values;
  std::vector<float> magnitudes;

  DecodedPanel(const QuantisedMatrix& matrix, int64_t column)
      : values(matrix.k * kReferenceColumns), magnitudes(matrix.k * kReferenceColumns) {
    const auto& table = fp8_table();
    const int64_t columns = std::min<int64_t>(kReferenceColumns, matrix.rows - column);
    for (int64_t j = 0; j < columns; ++j) {
      const Fp8E4m3* row = matrix.values.data() + (column + j) * matrix.k;
      for (int64_t k = 0; k < matrix.k; ++k) {
        values[k * kReferenceColumns + j] = table[row[k].bits];
        magnitudes[k * kReferenceColumns + j] =
            static_cast<float>(std::fabs(values[k * kReferenceColumns + j]));
      }
    }
  }
};

}  // namespace detail

/// Computes the reference from the dequantised operands, on all cores.
inline BlockwiseReference blockwise_reference(const BlockwiseProblem& problem) {
  constexpr int kColumns = detail::kReferenceColumns;
  static_assert(kScaleBlock % kColumns == 0, "columns computed together share their B-scale");
  const int64_t n = problem.n, k = problem.k;
  BlockwiseReference reference{std::vector<double>(problem.m * n),
                               std::vector<double>(problem.m * n)};
  const detail::DecodedRows a(problem.a);
  parallel_for(ceil_div(n, kColumns), [&](int64_t panel_index) {
    const int64_t column = panel_index * kColumns;
    const int64_t columns = std::min<int64_t>(kColumns, n - column);
    const detail::DecodedPanel panel(problem.b, column);
    const float* b_scales =
        problem.b.scales.data() + column / kScaleBlock * problem.b.scales_stride;
    for (int64_t row = 0; row < problem.m; ++row) {
      double total[kColumns] = {};
      double total_magnitude[kColumns] = {};
      for (int64_t begin = 0; begin < k; begin += kScaleBlock) {
        double sums[kColumns];
        float abs_sums[kColumns];
        detail::block_products(
            a.values.data() + row * k + begin, a.magnitudes.data() + row * k + begin,
            panel.values.data() + begin * kColumns, panel.magnitudes.data() + begin * kColumns,
            std::min<int64_t>(kScaleBlock, k - begin), sums, abs_sums);
        const int64_t block = begin / kScaleBlock;
        const double scale =
            static_cast<double>(problem.a.scales[block * problem.a.scales_stride + row]) *
            b_scales[block];
        for (int j = 0; j < kColumns; ++j) {
          total[j] += sums[j] * scale;
          total_magnitude[j] += abs_sums[j] * scale;
        }
      }
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t index = row * n + column + j;
        const double residual =
            problem.beta == 0 ? 0.0
                              : static_cast<double>(problem.beta) * to_float(problem.c[index]);
        reference.d[index] = total[j] + residual;
        reference.magnitude[index] = total_magnitude[j];
      }
    }
  });
  return reference;
}

}  // namespace bw
