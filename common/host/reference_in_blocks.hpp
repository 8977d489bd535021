#pragma once
/// \file
/// A float64 reference of a GEMM on operands with scales, block by block of D: what is held of the
/// operands in float64 stays small.

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/host/blockwise_reference.hpp"
#include "common/host/number_formats.hpp"

namespace bw {

/// Rows of an operand times their scales, [rows, K]: exact in float64. The magnitudes, which only
/// scale the tolerance, are fp32.
struct DequantisedRows {
  std::vector<double> values;     ///< [rows, K]
  std::vector<float> magnitudes;  ///< of the values, same shape

  /// Room for `rows` rows of `k` values.
  DequantisedRows(int64_t rows, int64_t k) : values(rows * k), magnitudes(rows * k) {}
  /// Sets a value and its magnitude.
  void set(int64_t index, double value) {
    values[index] = value;
    magnitudes[index] = static_cast<float>(std::fabs(value));
  }
};

/// Rows [first, first + count) of an operand.
using RowsOfOperand = std::function<DequantisedRows(int64_t first, int64_t count)>;

/// The reference of D [m, n] = factor · A · Bᵀ + beta · C, on all cores. `c` is [m, n], and is not
/// read when beta is 0; `a` is called by several threads at once.
BlockwiseReference reference_in_blocks(int64_t m, int64_t n, int64_t k, double factor, float beta,
                                       const std::vector<Bf16>& c, const RowsOfOperand& a,
                                       const RowsOfOperand& b);

}  // namespace bw
