#include "common/host/reference_in_blocks.hpp"

#include <algorithm>

#include "common/host/ceil_div.hpp"
#include "common/host/dense_product.hpp"
#include "common/host/parallel_for.hpp"
#include "common/host/progress_line.hpp"

namespace bw {

BlockwiseReference reference_in_blocks(int64_t m, int64_t n, int64_t k, double factor, float beta,
                                       const std::vector<Bf16>& c, const RowsOfOperand& a,
                                       const RowsOfOperand& b) {
  constexpr int64_t kBlockRows = 128, kBlockColumns = 1024;
  BlockwiseReference reference{std::vector<double>(m * n), std::vector<double>(m * n)};
  const int64_t bands = ceil_div(m, kBlockRows);
  ProgressLine progress("computing the float64 reference", bands * ceil_div(n, kBlockColumns));
  for (int64_t column = 0; column < n; column += kBlockColumns) {
    const int64_t columns = std::min<int64_t>(kBlockColumns, n - column);
    const DequantisedRows rows_of_b = b(column, columns);
    parallel_for(bands, [&](int64_t band) {
      const int64_t row = band * kBlockRows;
      const int64_t rows = std::min<int64_t>(kBlockRows, m - row);
      const DequantisedRows rows_of_a = a(row, rows);
      std::vector<double> sums(rows * columns);
      std::vector<float> magnitudes(rows * columns);
      multiply_transposed(rows_of_a.values.data(), rows_of_b.values.data(), sums.data(), rows,
                          columns, k);
      multiply_transposed(rows_of_a.magnitudes.data(), rows_of_b.magnitudes.data(),
                          magnitudes.data(), rows, columns, k);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t index = (row + i) * n + column + j;
          const double residual = beta == 0 ? 0.0 : static_cast<double>(beta) * to_float(c[index]);
          reference.d[index] = factor * sums[i * columns + j] + residual;
          reference.magnitude[index] = factor * magnitudes[i * columns + j];
        }
      }
      progress.advance();
    });
  }
  return reference;
}

}  // namespace bw
