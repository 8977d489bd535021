#pragma once
/// \file
/// The program's task, on the host: column sums of a matrix and how far off fp32 may be.

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/host/parallel_for.hpp"
#include "common/host/random_normal.hpp"

namespace bw {

/// A row-major fp32 matrix of standard normal numbers.
inline std::vector<float> make_normal_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  std::vector<float> matrix(rows * columns);
  const RandomNormal normal(seed, 0);
  parallel_for(rows, [&](int64_t row) {
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) matrix[i] = normal(i);
  });
  return matrix;
}

/// Column sums in fp32, from the first row to the last: the kernels add in this order too, so that
/// every machine gets these very bits.
inline std::vector<float> fp32_column_sums(const std::vector<float>& matrix, int64_t rows,
                                           int64_t columns) {
  std::vector<float> sums(columns);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      sums[column] += matrix[row * columns + column];
    }
  }
  return sums;
}

/// Column sums in float64, and what a sum in fp32 from the first row to the last may be off.
struct ColumnSums {
  std::vector<double> sums;           ///< one for each column
  std::vector<double> allowed_error;  ///< one for each column
};

/// Every fp32 addition is off by at most half a unit in the last place, 2^-24 of its result; the
/// results are the partial sums, known here to float64, so that the bound is that of this very
/// matrix and not the worst of its size.
inline ColumnSums reference_column_sums(const std::vector<float>& matrix, int64_t rows,
                                        int64_t columns) {
  constexpr double kHalfUlp = 0x1p-24;
  constexpr double kSecondOrder = 1.001;  // errors of the partial sums that the errors relate to
  ColumnSums reference{std::vector<double>(columns), std::vector<double>(columns)};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      reference.sums[column] += matrix[row * columns + column];
      reference.allowed_error[column] +=
          kSecondOrder * kHalfUlp * std::fabs(reference.sums[column]);
    }
  }
  return reference;
}

}  // namespace bw
