/// \file
/// Random inputs and their quantisation, checked in float64.
#include "common/host/blockwise_problem.hpp"
#include "common/host/random_normal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

namespace bw {
namespace {

/// Element (row, column) of the matrices here.
struct TestValues {
  float operator()(int64_t row, int64_t column) const {
    return RandomNormal(7, 3)(row * 1000 + column) * (1.0f + row % 5);
  }
};

/// The smallest distance of `value` to any finite e4m3.
double distance_to_nearest_fp8(double value) {
  double best = 1e30;
  for (int code = 0; code < 256; ++code) {
    const double candidate = to_float(Fp8E4m3{static_cast<uint8_t>(code)});
    if (!std::isnan(candidate)) best = std::min(best, std::fabs(candidate - value));
  }
  return best;
}

/// Every code is the nearest to the bf16 source over the scale, and every scale is amax / 448.
void expect_quantised(const QuantisedMatrix& matrix, int64_t block_rows, bool scales_transposed) {
  constexpr double kDivisionError = 1e-6;  // the quotient is rounded to fp32
  for (int64_t first = 0; first < matrix.rows; first += block_rows) {
    for (int64_t k = 0; k < matrix.k; k += kScaleBlock) {
      const int64_t block_row = first / block_rows, block_k = k / kScaleBlock;
      const float scale = scales_transposed
                              ? matrix.scales[block_k * matrix.scales_stride + block_row]
                              : matrix.scales[block_row * matrix.scales_stride + block_k];
      double amax = 0;
      for (int64_t i = first; i < std::min(first + block_rows, matrix.rows); ++i) {
        for (int64_t j = k; j < std::min(k + kScaleBlock, matrix.k); ++j) {
          const double source = to_float(to_bf16(TestValues{}(i, j)));
          amax = std::max(amax, std::fabs(source));
          const double target = source / scale;
          const double got = to_float(matrix.values[i * matrix.k + j]);
          ASSERT_LE(std::fabs(got - target),
                    distance_to_nearest_fp8(target) + kDivisionError * std::fabs(target))
              << "row " << i << ", column " << j;
        }
      }
      ASSERT_FLOAT_EQ(scale, static_cast<float>(amax / 448.0)) << "block at " << first << ", " << k;
    }
  }
}

TEST(BlockwiseProblem, QuantisesAPerRowAnd128Columns) {
  const QuantisedMatrix a = quantise_1x128(13, 304, TestValues{});
  EXPECT_EQ(a.scales_stride, 16);
  EXPECT_EQ(a.scales.size(), 3u * 16);
  expect_quantised(a, 1, true);
}

TEST(BlockwiseProblem, QuantisesBPer128Rows128Columns) {
  const QuantisedMatrix b = quantise_128x128(150, 304, TestValues{});
  EXPECT_EQ(b.scales_stride, 3);
  EXPECT_EQ(b.scales.size(), 2u * 3);
  expect_quantised(b, kScaleBlock, false);
}

TEST(BlockwiseProblem, AnEmptyBlockHasAFiniteScale) {
  const QuantisedMatrix a = quantise_1x128(2, 128, [](int64_t, int64_t) { return 0.0f; });
  for (const Fp8E4m3 value : a.values) EXPECT_EQ(value.bits, 0);
  EXPECT_GT(a.scales[0], 0.0f);
}

TEST(BlockwiseProblem, NormalNumbersAreNormal) {
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0;
  const RandomNormal normal(1, 0);
  for (int i = 0; i < kCount; ++i) {
    const double x = normal(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.1);
}

TEST(BlockwiseProblem, SeedsAndStreamsDiffer) {
  EXPECT_EQ(RandomNormal(1, 0)(5), RandomNormal(1, 0)(5));
  EXPECT_NE(RandomNormal(1, 0)(5), RandomNormal(2, 0)(5));
  EXPECT_NE(RandomNormal(1, 0)(5), RandomNormal(1, 1)(5));
}

TEST(BlockwiseProblem, PositionCodesTellPositions) {
  std::set<uint16_t> codes;
  for (int64_t row = 0; row < 125; ++row) {
    for (int64_t column = 0; column < 131; ++column) {
      const Bf16 code = position_code(1000 + row, 4096 + column);
      EXPECT_TRUE(std::isnormal(to_float(code)));
      codes.insert(code.bits);
    }
  }
  EXPECT_EQ(codes.size(), 125u * 131);
  // Neighbouring tiles differ in every element.
  EXPECT_NE(position_code(3, 5), position_code(131, 5));
  EXPECT_NE(position_code(3, 5), position_code(3, 133));
  EXPECT_NE(position_code(3, 5), position_code(5, 3));
}

TEST(BlockwiseProblem, WithoutBetaThereIsNoC) {
  EXPECT_TRUE(make_blockwise_problem(8, 8, 16, 0.0f, 1, Fill::kNormal).c.empty());
  EXPECT_EQ(make_blockwise_problem(8, 8, 16, 1.0f, 1, Fill::kNormal).c.size(), 64u);
}

TEST(BlockwiseProblem, PositionFillHasAZeroA) {
  const BlockwiseProblem problem = make_blockwise_problem(5, 8, 144, 1.0f, 1, Fill::kPositionC);
  for (const Fp8E4m3 value : problem.a.values) EXPECT_EQ(value.bits, 0);
  EXPECT_EQ(problem.c[2 * 8 + 3], position_code(2, 3));
}

}  // namespace
}  // namespace bw
