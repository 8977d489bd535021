#pragma once
/// \file
/// Whole pieces of an extent.

#include <cstdint>

namespace bw {

/// The quotient, rounded up.
constexpr int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}
/// The least multiple of `unit` that is not below `value`.
constexpr int64_t round_up(int64_t value, int64_t unit) { return ceil_div(value, unit) * unit; }

}  // namespace bw
