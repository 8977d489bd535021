#include "common/host/blockwise_reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "common/host/ceil_div.hpp"
#include "common/host/dense_product.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/parallel_for.hpp"
#include "common/host/progress_line.hpp"

namespace bw {
namespace {

// e4m3 codes as float64 (exact).
const std::array<double, 256>& fp8_table() {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> values;
    for (int code = 0; code < 256; ++code) {
      values[code] = to_float(Fp8E4m3{static_cast<uint8_t>(code)});
    }
    return values;
  }();
  return table;
}

// Rows of an operand, dequantised [rows, K]. A value times its scale has at most 4 + 24
// significant bits, so it is exact in float64. The magnitudes, which only scale the tolerance, are
// fp32.
struct DequantisedRows {
  std::vector<double> values;     // [rows, columns]
  std::vector<float> magnitudes;  // sums of the magnitudes of the terms, same shape

  // Rows [first, first + count) of `matrix`; `scale_of(row, block)` is the scale of a K block.
  template <class ScaleOf>
  DequantisedRows(const QuantisedMatrix& matrix, int64_t first, int64_t count,
                  const ScaleOf& scale_of)
      : values(count * matrix.k), magnitudes(count * matrix.k) {
    const auto& table = fp8_table();
    for (int64_t row = 0; row < count; ++row) {
      const Fp8E4m3* const codes = matrix.values.data() + (first + row) * matrix.k;
      for (int64_t begin = 0; begin < matrix.k; begin += kScaleBlock) {
        const double scale = scale_of(first + row, begin / kScaleBlock);
        const int64_t end = std::min<int64_t>(begin + kScaleBlock, matrix.k);
        for (int64_t k = begin; k < end; ++k) {
          const double value = table[codes[k].bits] * scale;
          values[row * matrix.k + k] = value;
          magnitudes[row * matrix.k + k] = static_cast<float>(std::fabs(value));
        }
      }
    }
  }
};

// Rows of A times their scales, in double.
DequantisedRows dequantised_a(const BlockwiseProblem& problem, int64_t first, int64_t count) {
  return {problem.a, first, count, [&](int64_t row, int64_t block) {
            return problem.a.scales[block * problem.a.scales_stride + row];
          }};
}

// Rows of B times their scales, in double.
DequantisedRows dequantised_b(const BlockwiseProblem& problem, int64_t first, int64_t count) {
  return {problem.b, first, count, [&](int64_t row, int64_t block) {
            return problem.b.scales[row / kScaleBlock * problem.b.scales_stride + block];
          }};
}

}  // namespace

BlockwiseReference blockwise_reference(const BlockwiseProblem& problem) {
  constexpr int64_t kBlockRows = 128, kBlockColumns = 1024;
  const int64_t m = problem.m, n = problem.n, k = problem.k;
  BlockwiseReference reference{std::vector<double>(m * n), std::vector<double>(m * n)};
  const int64_t bands = ceil_div(m, kBlockRows);
  ProgressLine progress("computing the float64 reference", bands * ceil_div(n, kBlockColumns));
  for (int64_t column = 0; column < n; column += kBlockColumns) {
    const int64_t columns = std::min<int64_t>(kBlockColumns, n - column);
    const DequantisedRows b = dequantised_b(problem, column, columns);
    parallel_for(bands, [&](int64_t band) {
      const int64_t row = band * kBlockRows;
      const int64_t rows = std::min<int64_t>(kBlockRows, m - row);
      const DequantisedRows a = dequantised_a(problem, row, rows);
      std::vector<double> sums(rows * columns);
      std::vector<float> magnitudes(rows * columns);
      multiply_transposed(a.values.data(), b.values.data(), sums.data(), rows, columns, k);
      multiply_transposed(a.magnitudes.data(), b.magnitudes.data(), magnitudes.data(), rows,
                          columns, k);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t index = (row + i) * n + column + j;
          const double residual =
              problem.beta == 0 ? 0.0
                                : static_cast<double>(problem.beta) * to_float(problem.c[index]);
          reference.d[index] = sums[i * columns + j] + residual;
          reference.magnitude[index] = magnitudes[i * columns + j];
        }
      }
      progress.advance();
    });
  }
  return reference;
}

}  // namespace bw
