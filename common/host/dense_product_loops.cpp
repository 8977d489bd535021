/// \file
/// Dense products by plain loops, for builds that have the CUDA Toolkit alone.
#include <algorithm>
#include <vector>

#include "common/host/dense_product.hpp"

namespace bw {
namespace {

constexpr int64_t kColumns = 8;  ///< of d, computed together: a vector of sums

template <class T>
void multiply(const T* a, const T* b, T* d, int64_t rows, int64_t columns, int64_t depth) {
  std::vector<T> panel(depth * kColumns);  // kColumns rows of b, interleaved
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t count = std::min(kColumns, columns - first);
    std::fill(panel.begin(), panel.end(), T{0});
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t k = 0; k < depth; ++k) panel[k * kColumns + j] = b[(first + j) * depth + k];
    }
    for (int64_t row = 0; row < rows; ++row) {
      T sums[kColumns] = {};
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t j = 0; j < kColumns; ++j) {
          sums[j] += a[row * depth + k] * panel[k * kColumns + j];
        }
      }
      std::copy_n(sums, count, d + row * columns + first);
    }
  }
}

}  // namespace

void multiply_transposed(const double* a, const double* b, double* d, int64_t rows, int64_t columns,
                         int64_t depth) {
  multiply(a, b, d, rows, columns, depth);
}
void multiply_transposed(const float* a, const float* b, float* d, int64_t rows, int64_t columns,
                         int64_t depth) {
  multiply(a, b, d, rows, columns, depth);
}

}  // namespace bw
