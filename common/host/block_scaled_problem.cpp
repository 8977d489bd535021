#include "common/host/block_scaled_problem.hpp"

#include <algorithm>
#include <cmath>

#include "common/host/ceil_div.hpp"
#include "common/host/dense_product.hpp"
#include "common/host/parallel_for.hpp"
#include "common/host/progress_line.hpp"
#include "common/host/random_normal.hpp"

namespace bw {
namespace {

// Rows of an operand times their scales, [rows, K]: exact in float64. The magnitudes, which only
// scale the tolerance, are fp32.
struct ScaledRows {
  std::vector<double> values;
  std::vector<float> magnitudes;

  ScaledRows(const BlockScaledMatrix& matrix, int64_t first, int64_t count)
      : values(count * matrix.k), magnitudes(count * matrix.k) {
    const int64_t width = scale_block(matrix.format);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t block = 0; block < matrix.blocks; ++block) {
        const double scale = matrix.scale(first + row, block);
        const int64_t end = std::min((block + 1) * width, matrix.k);
        for (int64_t column = block * width; column < end; ++column) {
          const double value = matrix.element(first + row, column) * scale;
          values[row * matrix.k + column] = value;
          magnitudes[row * matrix.k + column] = static_cast<float>(std::fabs(value));
        }
      }
    }
  }
};

}  // namespace

BlockScaledProblem make_block_scaled_problem(BlockFormat format, int64_t m, int64_t n, int64_t k,
                                             float beta, uint64_t seed, Fill fill) {
  BlockScaledProblem problem{m, n, k, beta, fill, {}, {}, {}};
  const RandomNormal normal_a(seed, 0), normal_b(seed, 1), normal_c(seed, 2);
  const bool positions = fill == Fill::kPositionC;
  problem.a = quantise_block_scaled(format, m, k, [&](int64_t row, int64_t column) {
    return positions ? 0.0f : normal_a(row * k + column);
  });
  problem.b = quantise_block_scaled(
      format, n, k, [&](int64_t row, int64_t column) { return normal_b(row * k + column); });
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

BlockwiseReference block_scaled_reference(const BlockScaledProblem& problem) {
  constexpr int64_t kBlockRows = 128, kBlockColumns = 1024;
  const int64_t m = problem.m, n = problem.n, k = problem.k;
  const double factor = static_cast<double>(problem.a.factor) * problem.b.factor;
  BlockwiseReference reference{std::vector<double>(m * n), std::vector<double>(m * n)};
  const int64_t bands = ceil_div(m, kBlockRows);
  ProgressLine progress("computing the float64 reference", bands * ceil_div(n, kBlockColumns));
  for (int64_t column = 0; column < n; column += kBlockColumns) {
    const int64_t columns = std::min<int64_t>(kBlockColumns, n - column);
    const ScaledRows b(problem.b, column, columns);
    parallel_for(bands, [&](int64_t band) {
      const int64_t row = band * kBlockRows;
      const int64_t rows = std::min<int64_t>(kBlockRows, m - row);
      const ScaledRows a(problem.a, row, rows);
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
          reference.d[index] = factor * sums[i * columns + j] + residual;
          reference.magnitude[index] = factor * magnitudes[i * columns + j];
        }
      }
      progress.advance();
    });
  }
  return reference;
}

}  // namespace bw
