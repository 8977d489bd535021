#pragma once
/// \file
/// The narrow formats of block-scaled matrices on the host: e2m1 elements, ue8m0 and ue4m3 scales.
/// Conversions are those of cvt (PTX ISA, "cvt"; OCP MX specification 1.0, section 5).

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/host/number_formats.hpp"

namespace bw {

/// FP4 e2m1, in the lower half of a byte: sign, two exponent bits (bias 1), one mantissa bit. It
/// has neither infinities nor NaN.
struct Fp4E2m1 {
  uint8_t bits;  ///< the encoding
  bool operator==(const Fp4E2m1&) const = default;
};

constexpr float kFp4E2m1Max = 6.0f;  ///< the largest e2m1

/// A power of two: 2^(bits - 127); 255 is NaN.
struct Ue8m0 {
  uint8_t bits;  ///< the encoding
  bool operator==(const Ue8m0&) const = default;
};

constexpr uint8_t kUe8m0Nan = 0xff;  ///< the code without a value

/// The value, exactly.
inline float to_float(Fp4E2m1 value) {
  constexpr float kMagnitudes[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const float magnitude = kMagnitudes[value.bits & 7];
  return (value.bits & 8) != 0 ? -magnitude : magnitude;
}

/// Nearest even with saturation to ±6; NaN becomes 6. As cvt.rn.satfinite.e2m1x2.
inline Fp4E2m1 to_fp4_e2m1(float value) {
  // Halfway between code c and c + 1; at the value itself the even code wins.
  constexpr float kHalfway[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  constexpr uint8_t kLargest = 7;
  if (std::isnan(value)) return Fp4E2m1{kLargest};
  const float magnitude = std::fabs(value);
  uint8_t code = 0;
  for (const float halfway : kHalfway) {
    const bool rounds_up = magnitude > halfway || (magnitude == halfway && (code & 1) != 0);
    if (!rounds_up) break;
    ++code;
  }
  const uint8_t sign = std::signbit(value) ? 8 : 0;
  return Fp4E2m1{static_cast<uint8_t>(sign | code)};
}

/// The value, exactly; NaN for the code that is.
inline float to_float(Ue8m0 value) {
  constexpr int kBias = 127;
  if (value.bits == kUe8m0Nan) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, value.bits - kBias);
}

/// The smallest power of two that isn't less than a positive `value`, within 2^-127 … 2^127; NaN
/// stays NaN. As cvt.rp.satfinite.ue8m0x2.
inline Ue8m0 to_ue8m0_up(float value) {
  constexpr int kBias = 127, kMost = 254;
  if (std::isnan(value)) return Ue8m0{kUe8m0Nan};
  if (!(value > 0)) return Ue8m0{0};
  if (std::isinf(value)) return Ue8m0{kMost};
  int exponent = 0;
  const float mantissa = std::frexp(value, &exponent);  // 0.5 <= mantissa < 1
  const int code = exponent - (mantissa == 0.5f ? 1 : 0) + kBias;
  return Ue8m0{static_cast<uint8_t>(code < 0 ? 0 : code > kMost ? kMost : code)};
}

/// The largest power of two that isn't more than a positive `value`, within 2^-127 … 2^127; NaN
/// stays NaN. As cvt.rz.satfinite.ue8m0x2.
inline Ue8m0 to_ue8m0_down(float value) {
  constexpr int kBias = 127;
  if (std::isnan(value)) return Ue8m0{kUe8m0Nan};
  if (!(value > 0)) return Ue8m0{0};
  if (std::isinf(value)) return Ue8m0{254};
  const int code = std::ilogb(value) + kBias;
  return Ue8m0{static_cast<uint8_t>(code < 0 ? 0 : code)};
}

}  // namespace bw
