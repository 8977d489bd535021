#include "common/host/block_scaled_problem.hpp"

#include <algorithm>

#include "common/host/parallel_for.hpp"
#include "common/host/random_normal.hpp"
#include "common/host/reference_in_blocks.hpp"

namespace bw {
namespace {

// Rows [first, first + count) of an operand.
DequantisedRows dequantised(const BlockScaledMatrix& matrix, int64_t first, int64_t count) {
  const int64_t width = scale_block(matrix.format);
  DequantisedRows rows(count, matrix.k);
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t block = 0; block < matrix.blocks; ++block) {
      const double scale = matrix.scale(first + row, block);
      const int64_t end = std::min((block + 1) * width, matrix.k);
      for (int64_t column = block * width; column < end; ++column)
        rows.set(row * matrix.k + column, matrix.element(first + row, column) * scale);
    }
  }
  return rows;
}

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
  const auto rows_of = [](const BlockScaledMatrix& matrix) {
    return [&matrix](int64_t first, int64_t count) { return dequantised(matrix, first, count); };
  };
  const double factor = static_cast<double>(problem.a.factor) * problem.b.factor;
  return reference_in_blocks(problem.m, problem.n, problem.k, factor, problem.beta, problem.c,
                             rows_of(problem.a), rows_of(problem.b));
}

}  // namespace bw
