#pragma once
/// \file
/// Operands of the ladders' products, and how far a product is from the sum that it should be.

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {

/// The bits that elements of a type may have so that none is NaN and no product is infinite.
template <class Element>
constexpr uint32_t kFiniteBits = 0xf7f7f7f7;
template <>
constexpr uint32_t kFiniteBits<__nv_bfloat16> = 0xbfffbfff;

/// A matrix of random elements: zeros would pull the clock down less.
template <class Element>
class RandomMatrix : public ByteMatrix {
 public:
  RandomMatrix(uint32_t row_bytes, uint32_t rows, uint32_t seed)
      : ByteMatrix(row_bytes, rows), values_(size_t{row_bytes} * rows / sizeof(uint32_t)) {
    std::mt19937 random(seed);
    for (uint32_t& word : values_) word = static_cast<uint32_t>(random()) & kFiniteBits<Element>;
    check_cuda(cudaMemcpy(data(), values_.data(), size_t{row_bytes} * rows, cudaMemcpyDefault),
               "copy an operand");
  }
  /// The element in a row.
  [[nodiscard]] float at(uint32_t row, uint32_t k) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values_.data());
    Element value;
    std::memcpy(&value, bytes + size_t{row} * row_bytes() + k * sizeof(Element), sizeof(Element));
    return static_cast<float>(value);
  }

 private:
  std::vector<uint32_t> values_;
};

/// How far some elements of C = A · Bᵀ are from the sum of the products, as a part of the sum of
/// their sizes. C is stored by rows of `columns` elements.
template <class Element>
double product_error(const RandomMatrix<Element>& a, const RandomMatrix<Element>& b,
                     const std::vector<__nv_bfloat16>& c, uint32_t columns) {
  constexpr uint32_t kLook = 61;  // distance of the checked elements
  double worst = 0;
  for (size_t i = 0; i < c.size(); i += kLook) {
    double sum = 0, size = 0;
    for (uint32_t k = 0; k < a.row_bytes() / sizeof(Element); ++k) {
      const double product = static_cast<double>(a.at(static_cast<uint32_t>(i / columns), k)) *
                             static_cast<double>(b.at(static_cast<uint32_t>(i % columns), k));
      sum += product;
      size += std::fabs(product);
    }
    worst = std::max(worst, std::fabs(static_cast<double>(__bfloat162float(c[i])) - sum) / size);
  }
  return worst;
}

/// More than the error of a product that is right: bf16 rounds by up to 2^-8.
inline constexpr double kRoundedToBf16 = 4e-3;

}  // namespace bw::timing
