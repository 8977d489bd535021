#include "common/host/dense_product.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace bw {
namespace {

/// The numbers in a SIMD register of the processor that this is compiled for.
template <class T>
struct Lanes {
  static constexpr size_t kBytes =
      __BIGGEST_ALIGNMENT__;  // the widest register's, for GCC and Clang
  static constexpr int64_t kCount = kBytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(kBytes)));
};

/// `count` rows of b [count, depth] as vectors: the numbers of a column are neighbours.
template <class T>
void interleave(const T* b, int64_t count, int64_t depth, std::vector<T>& panel) {
  constexpr int64_t kColumns = Lanes<T>::kCount;
  std::fill(panel.begin(), panel.end(), T{0});
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t k = 0; k < depth; ++k) panel[k * kColumns + j] = b[j * depth + k];
  }
}

/// `rows` rows of d times `count` columns: each vector of the panel that is loaded takes part in
/// `rows` independent additions.
template <int rows, class T>
void multiply_rows(const T* a, const std::vector<T>& panel, T* d, int64_t count, int64_t columns,
                   int64_t depth) {
  using Vector = typename Lanes<T>::Vector;
  Vector sums[rows] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vector right;
    std::memcpy(&right, &panel[k * Lanes<T>::kCount], sizeof right);
    for (int row = 0; row < rows; ++row) sums[row] += a[row * depth + k] * right;
  }
  for (int row = 0; row < rows; ++row) {
    std::memcpy(d + row * columns, &sums[row], count * sizeof(T));
  }
}

template <class T>
void multiply(const T* a, const T* b, T* d, int64_t rows, int64_t columns, int64_t depth) {
  constexpr int64_t kColumns = Lanes<T>::kCount;
  constexpr int kRows = 4;
  std::vector<T> panel(depth * kColumns);
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t count = std::min(kColumns, columns - first);
    interleave(b + first * depth, count, depth, panel);
    int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) {
      multiply_rows<kRows>(a + row * depth, panel, d + row * columns + first, count, columns,
                           depth);
    }
    for (; row < rows; ++row) {
      multiply_rows<1>(a + row * depth, panel, d + row * columns + first, count, columns, depth);
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
