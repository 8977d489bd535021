#include "common/host/blockwise_reference.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/host/number_formats.hpp"
#include "common/host/reference_in_blocks.hpp"

namespace bw {
namespace {

// e4m3 codes as float64 (exact).
const std::array<double, 256>& fp8_table() {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> values;
    for (int code = 0; code < 256; ++code) {
      values[code] = to_float(Fp8E4m3{static_cast<uint8_t>(code)});
    }
    return values;
  }();
  return table;
}

// Rows [first, first + count) of `matrix`; `scale_of(row, block)` is the scale of a K block. A
// value times its scale has at most 4 + 24 significant bits, so it is exact in float64.
template <class ScaleOf>
DequantisedRows dequantised(const QuantisedMatrix& matrix, int64_t first, int64_t count,
                            const ScaleOf& scale_of) {
  const auto& table = fp8_table();
  DequantisedRows rows(count, matrix.k);
  for (int64_t row = 0; row < count; ++row) {
    const Fp8E4m3* const codes = matrix.values.data() + (first + row) * matrix.k;
    for (int64_t begin = 0; begin < matrix.k; begin += kScaleBlock) {
      const double scale = scale_of(first + row, begin / kScaleBlock);
      const int64_t end = std::min<int64_t>(begin + kScaleBlock, matrix.k);
      for (int64_t k = begin; k < end; ++k)
        rows.set(row * matrix.k + k, table[codes[k].bits] * scale);
    }
  }
  return rows;
}

}  // namespace

BlockwiseReference blockwise_reference(const BlockwiseProblem& problem) {
  const auto rows_of_a = [&](int64_t first, int64_t count) {
    return dequantised(problem.a, first, count, [&](int64_t row, int64_t block) {
      return problem.a.scales[block * problem.a.scales_stride + row];
    });
  };
  const auto rows_of_b = [&](int64_t first, int64_t count) {
    return dequantised(problem.b, first, count, [&](int64_t row, int64_t block) {
      return problem.b.scales[row / kScaleBlock * problem.b.scales_stride + block];
    });
  };
  return reference_in_blocks(problem.m, problem.n, problem.k, /*factor=*/1, problem.beta, problem.c,
                             rows_of_a, rows_of_b);
}

}  // namespace bw
