/// \file
/// What passes and what fails verification.
#include "common/host/comparison.hpp"

#include <gtest/gtest.h>

#include "common/host/error.hpp"

namespace bw {
namespace {

constexpr int64_t kColumns = 4;
constexpr int64_t kElements = 8;

BlockwiseReference constant_reference(double value, double magnitude) {
  return {std::vector<double>(kElements, value), std::vector<double>(kElements, magnitude)};
}

TEST(Comparison, TakesOneUnitInTheLastPlace) {
  const BlockwiseReference reference = constant_reference(1.0, 0.0);
  std::vector<Bf16> d(kElements, to_bf16(1.0f));
  d[5] = to_bf16(1.0f + 1.0f / 128);
  const Comparison comparison = compare_with_reference(d, kColumns, reference);
  EXPECT_TRUE(comparison.verified());
  EXPECT_DOUBLE_EQ(comparison.max_error, 1.0 / 128);
  EXPECT_DOUBLE_EQ(comparison.max_error_to_allowed, 1.0);
}

TEST(Comparison, RefusesTwoUnitsAndNamesTheElement) {
  const BlockwiseReference reference = constant_reference(1.0, 0.0);
  std::vector<Bf16> d(kElements, to_bf16(1.0f));
  d[6] = to_bf16(1.0f + 2.0f / 128);
  d[7] = to_bf16(-1.0f);
  const Comparison comparison = compare_with_reference(d, kColumns, reference);
  EXPECT_FALSE(comparison.verified());
  EXPECT_EQ(comparison.bad_elements, 2);
  ASSERT_TRUE(comparison.first_bad);
  EXPECT_EQ(comparison.first_bad->row, 1);
  EXPECT_EQ(comparison.first_bad->column, 2);
  EXPECT_EQ(comparison.first_bad->expected, 1.0);
}

TEST(Comparison, ShowsAVisitorEveryBadElementInOrder) {
  const BlockwiseReference reference = constant_reference(1.0, 10.0);
  std::vector<Bf16> d(kElements, to_bf16(1.0f));
  d[1] = Bf16{0xffff};
  d[2] = to_bf16(1.0f + 1.0f / 128);
  d[7] = to_bf16(-1.0f);
  std::vector<BadElement> bad;
  const Comparison comparison =
      compare_with_reference(d, kColumns, reference, kHopperAccumulationError,
                             [&](const BadElement& element) { bad.push_back(element); });
  EXPECT_EQ(comparison.bad_elements, 2);
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_EQ(bad[0].row, 0);
  EXPECT_EQ(bad[0].column, 1);
  EXPECT_EQ(bad[1].row, 1);
  EXPECT_EQ(bad[1].column, 3);
  EXPECT_EQ(bad[1].got, -1.0);
  EXPECT_EQ(bad[1].expected, 1.0);
  EXPECT_DOUBLE_EQ(bad[1].allowed, 1.0 / 128 + 1e-3);
}

TEST(Comparison, AllowsAccumulationErrorBySumOfMagnitudes) {
  EXPECT_DOUBLE_EQ(allowed_error(1.0, 1000.0), 1.0 / 128 + 1e-3);
  EXPECT_DOUBLE_EQ(allowed_error(-3.0, 0.0), 1.0 / 64);
}

TEST(Comparison, RefusesPoison) {
  const BlockwiseReference reference = constant_reference(1.0, 1e30);
  std::vector<Bf16> d(kElements, to_bf16(1.0f));
  d[0] = Bf16{0xffff};
  const Comparison comparison = compare_with_reference(d, kColumns, reference);
  EXPECT_EQ(comparison.bad_elements, 1);
  EXPECT_FALSE(comparison.verified());
}

TEST(Comparison, RefusesAMatrixOfAnotherSize) {
  EXPECT_THROW(compare_with_reference(std::vector<Bf16>(3), kColumns, constant_reference(0, 0)),
               Error);
}

TEST(Comparison, ResidualIsComparedExactly) {
  const BlockwiseProblem problem = make_blockwise_problem(3, 8, 16, 0.5f, 1, Fill::kPositionC);
  std::vector<Bf16> d(24);
  for (size_t i = 0; i < d.size(); ++i) d[i] = to_bf16(0.5f * to_float(problem.c[i]));
  EXPECT_TRUE(compare_with_residual(d, problem).verified());
  d[17].bits ^= 1;
  const Comparison comparison = compare_with_residual(d, problem);
  EXPECT_EQ(comparison.bad_elements, 1);
  ASSERT_TRUE(comparison.first_bad);
  EXPECT_EQ(comparison.first_bad->row, 2);
  EXPECT_EQ(comparison.first_bad->column, 1);
}

}  // namespace
}  // namespace bw
