/// \file
/// The fast reference against the definition, three plain loops; dense products against sums of
/// integers.
#include "common/host/blockwise_reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/host/dense_product.hpp"

namespace bw {
namespace {

void expect_defined_values(int64_t m, int64_t n, int64_t k, float beta) {
  const BlockwiseProblem problem = make_blockwise_problem(m, n, k, beta, 11, Fill::kNormal);
  const BlockwiseReference reference = blockwise_reference(problem);
  ASSERT_EQ(reference.d.size(), static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double a = static_cast<double>(to_float(problem.a.values[i * k + l])) *
                         problem.a.scales[l / 128 * problem.a.scales_stride + i];
        const double b = static_cast<double>(to_float(problem.b.values[j * k + l])) *
                         problem.b.scales[j / 128 * problem.b.scales_stride + l / 128];
        sum += a * b;
        magnitude += std::fabs(a * b);
      }
      if (beta != 0) sum += static_cast<double>(beta) * to_float(problem.c[i * n + j]);
      ASSERT_NEAR(reference.d[i * n + j], sum, 1e-12 * (magnitude + 1)) << i << ", " << j;
      ASSERT_NEAR(reference.magnitude[i * n + j], magnitude, 1e-4 * magnitude) << i << ", " << j;
    }
  }
}

TEST(BlockwiseReference, IsTheDefinition) { expect_defined_values(9, 24, 256, 0.5f); }
TEST(BlockwiseReference, IsTheDefinitionAtRaggedEdges) { expect_defined_values(5, 139, 208, 1); }
TEST(BlockwiseReference, IsTheDefinitionWithoutC) { expect_defined_values(3, 7, 48, 0); }

/// Small integers, so that every sum is exact in either type and in any order.
template <class T>
std::vector<T> small_integers(int64_t count, int64_t factor) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(i * factor % 13 - 6));
  return values;
}

template <class T>
void expect_sums(int64_t rows, int64_t columns, int64_t depth) {
  SCOPED_TRACE(testing::Message() << rows << " x " << columns << " x " << depth);
  const std::vector<T> a = small_integers<T>(rows * depth, 5);
  const std::vector<T> b = small_integers<T>(columns * depth, 7);
  constexpr T kUntouched = 12345;
  std::vector<T> d(rows * columns + 1, kUntouched);
  multiply_transposed(a.data(), b.data(), d.data(), rows, columns, depth);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      int64_t sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum +=
            static_cast<int64_t>(a[row * depth + k]) * static_cast<int64_t>(b[column * depth + k]);
      }
      ASSERT_EQ(d[row * columns + column], static_cast<T>(sum)) << row << ", " << column;
    }
  }
  EXPECT_EQ(d.back(), kUntouched);
}

TEST(DenseProduct, EverySumIsRightWhateverTheShapeLeavesOver) {
  for (const int64_t rows : {1, 3, 4, 9}) {
    for (const int64_t columns : {1, 7, 8, 16, 33}) {
      for (const int64_t depth : {1, 5, 128}) {
        expect_sums<float>(rows, columns, depth);
        expect_sums<double>(rows, columns, depth);
      }
    }
  }
}

}  // namespace
}  // namespace bw
