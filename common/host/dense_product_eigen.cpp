/// \file
/// Dense products by Eigen, whose kernels use the SIMD registers of the machine that this is
/// compiled on.
#include <Eigen/Core>

#include "common/host/dense_product.hpp"

namespace bw {
namespace {

template <class T>
void multiply(const T* a, const T* b, T* d, int64_t rows, int64_t columns, int64_t depth) {
  using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Rows> left(a, rows, depth), right(b, columns, depth);
  Eigen::Map<Rows>(d, rows, columns).noalias() = left * right.transpose();
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
