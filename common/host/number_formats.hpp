#pragma once
/// \file
/// bf16 and FP8 e4m3 on the host: bits, and conversions that round to nearest even.

#include <bit>
#include <cmath>
#include <cstdint>

namespace bw {

/// bfloat16: sign, 8 exponent bits, 7 mantissa bits.
struct Bf16 {
  uint16_t bits;  ///< the encoding
  bool operator==(const Bf16&) const = default;
};

/// FP8 e4m3: sign, 4 exponent bits (bias 7), 3 mantissa bits; no infinity, NaN is S.1111.111.
struct Fp8E4m3 {
  uint8_t bits;  ///< the encoding
  bool operator==(const Fp8E4m3&) const = default;
};

constexpr float kFp8E4m3Max = 448.0f;  ///< the largest finite e4m3

/// The value, exactly.
inline float to_float(Bf16 value) { return std::bit_cast<float>(uint32_t{value.bits} << 16); }

/// Nearest even; overflow gives infinity, NaN stays NaN.
inline Bf16 to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return Bf16{static_cast<uint16_t>(bits >> 16 | 0x40)};
  const uint32_t round_half_even = 0x7fff + (bits >> 16 & 1);
  return Bf16{static_cast<uint16_t>((bits + round_half_even) >> 16)};
}

/// The value, exactly.
inline float to_float(Fp8E4m3 value) {
  constexpr int kBias = 7;
  const int exponent = value.bits >> 3 & 0xf;
  const int mantissa = value.bits & 7;
  const float sign = value.bits & 0x80 ? -1.0f : 1.0f;
  if (exponent == 0xf && mantissa == 7) return std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - kBias - 3);
  return sign * std::ldexp(static_cast<float>(8 + mantissa), exponent - kBias - 3);
}

/// Nearest even with saturation to ±448 (infinity too); NaN stays NaN. As cvt.rn.satfinite.
inline Fp8E4m3 to_fp8_e4m3(float value) {
  constexpr uint32_t kNaN = 0x7f;
  constexpr uint32_t kMaxFinite = 0x7e;
  constexpr float kMinNormal = 0x1p-6f;
  // Adding 2^14 to a float leaves a unit in the last place of 2^-9, the subnormal step of e4m3.
  constexpr float kSubnormalRounder = 0x1p14f;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80;
  const float magnitude = std::fabs(value);
  uint32_t code;
  if (std::isnan(value)) {
    code = kNaN;
  } else if (magnitude < kMinNormal) {
    code = std::bit_cast<uint32_t>(magnitude + kSubnormalRounder) -
           std::bit_cast<uint32_t>(kSubnormalRounder);
  } else {
    constexpr int kDroppedBits = 23 - 3;
    constexpr uint32_t kRebias = (127 - 7) << 3;
    const uint32_t magnitude_bits = bits & 0x7fffffffu;
    const uint32_t round_half_even =
        (1u << (kDroppedBits - 1)) - 1 + (magnitude_bits >> kDroppedBits & 1);
    code = ((magnitude_bits + round_half_even) >> kDroppedBits) - kRebias;
    if (code > kMaxFinite) code = kMaxFinite;
  }
  return Fp8E4m3{static_cast<uint8_t>(sign | code)};
}

/// One bf16 unit in the last place at `value`: 2^(e - 7) for 2^e <= |value| < 2^(e + 1), and the
/// subnormal step 2^-133 below 2^-126. Of a value that isn't finite: the subnormal step.
inline double bf16_ulp(double value) {
  constexpr int kMantissaBits = 7;
  constexpr int kMinExponent = -126;
  int exponent = kMinExponent;
  if (value != 0 && std::isfinite(value)) exponent = std::ilogb(value);
  if (exponent < kMinExponent) exponent = kMinExponent;
  return std::ldexp(1.0, exponent - kMantissaBits);
}

}  // namespace bw
