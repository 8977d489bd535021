#pragma once
/// \file
/// The problem sizes of the comparison, by name.

#include <cstdint>
#include <string>
#include <vector>

namespace bw {

/// D [m, n] = A [m, k] · B [n, k]ᵀ.
struct Shape {
  int64_t m, n, k;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  /// Bytes that have to cross the memory interface at least: A, B, their scales, D, perhaps C.
  double least_bytes(bool residual) const;
  std::string name() const;  ///< "4096x7168x2048"
};

/// Square ones, the projections of a large mixture-of-experts model with few and many rows, and a
/// long K: the shapes on which FP8 GEMMs are usually compared.
const std::vector<Shape>& standard_shapes();

/// The shapes of a list such as "4096x4096x4096,64x2112x7168"; "standard": standard_shapes().
/// Throws Error for anything else.
std::vector<Shape> parse_shapes(const std::string& list);

}  // namespace bw
