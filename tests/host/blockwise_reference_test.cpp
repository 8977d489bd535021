/// \file
/// The fast reference against the definition, three plain loops.
#include "common/host/blockwise_reference.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace bw
