#pragma once
/// \file
/// Matrices whose rows do not touch, for tests of leading dimensions.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bw {

/// Row-major `values` [rows, columns], its rows `stride` apart; the gaps hold `padding`.
template <class T>
std::vector<T> with_stride(const std::vector<T>& values, int64_t columns, int64_t stride,
                           T padding) {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
  std::vector<T> padded(rows * stride, padding);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(values.begin() + row * columns, columns, padded.begin() + row * stride);
  }
  return padded;
}

}  // namespace bw
