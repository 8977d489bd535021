#pragma once
/// \file
/// bf16 in the references' device code.

#include <cstdint>

#include "common/host/number_formats.hpp"

namespace bw {

__device__ inline float bf16_value(Bf16 value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

/// One unit in the last place of `value` as bf16 (8 significant bits; subnormals as fp32's).
__device__ inline double bf16_unit(double value) {
  constexpr int kSmallestExponent = -126, kFractionBits = 7;
  int exponent = 0;
  frexp(value, &exponent);  // value = fraction in [0.5, 1) times 2^exponent
  return ldexp(1.0, max(exponent - 1, kSmallestExponent) - kFractionBits);
}

}  // namespace bw
