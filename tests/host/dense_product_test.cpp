/// \file
/// Dense products, against sums of integers.
#include "common/host/dense_product.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace bw {
namespace {

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
