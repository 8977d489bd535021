#pragma once
/// \file
/// f16 and bf16 bit patterns to f32 and back, branch-free, so that loops over lanes vectorise.

#include <bit>
#include <cstdint>

namespace bw::sim {

/// `below` if value < limit, else `other`, for numbers less than 2^31. The mask comes from a
/// subtraction, so the compiler sees no branch: it would move floating-point operations into it and
/// then not vectorise.
[[nodiscard]] constexpr uint32_t select_below(uint32_t value, uint32_t limit, uint32_t below,
                                              uint32_t other) {
  const auto mask = static_cast<uint32_t>(static_cast<int32_t>(value - limit) >> 31);
  return (below & mask) | (other & ~mask);
}

/// IEEE binary16.
struct Half {
  static constexpr uint16_t kSign = 0x8000;          ///< the sign's bit
  static constexpr uint16_t kExponent = 0x7c00;      ///< the exponent's bits
  static constexpr uint16_t kCanonicalNan = 0x7fff;  ///< the NaN that instructions give
  static constexpr uint16_t kOne = 0x3c00;           ///< 1.0
  static constexpr uint16_t kMaxFinite = 0x7bff;     ///< the largest finite number

  /// The value, exactly.
  [[nodiscard]] static float to_float(uint16_t bits) {
    // Shifted into f32's fields, the value is too small by 2^112; NaN and infinity need f32's
    // exponent.
    constexpr float kRescale = 0x1p112f;
    const uint32_t magnitude = (bits & 0x7fffu) << 13;
    const float scaled = std::bit_cast<float>(magnitude) * kRescale;
    const uint32_t special = magnitude | 0x7f800000u;
    const uint32_t finite = std::bit_cast<uint32_t>(scaled);
    const uint32_t sign = (bits & 0x8000u) << 16;
    return std::bit_cast<float>(sign | select_below(bits & 0x7fffu, kExponent, finite, special));
  }

  /// Nearest even; NaN becomes the canonical NaN, overflow infinity.
  [[nodiscard]] static uint16_t from_float(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Normal results: move the exponent's bias by 112 and round at bit 13.
    const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Subnormal results: adding 0.5 lines the value up with units of 2^-24; the addition rounds.
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    constexpr uint32_t kSmallestNormal = 0x38800000u;  // 2^-14
    constexpr uint32_t kOverflow = 0x477ff000u;        // 65520 rounds to 2^16
    const uint32_t finite = select_below(magnitude, kSmallestNormal, subnormal, normal);
    const uint32_t rounded = select_below(magnitude, kOverflow, finite, kExponent);
    return static_cast<uint16_t>(
        select_below(0x7f800000u, magnitude, kCanonicalNan, sign | rounded));
  }

  /// Whether it is a NaN.
  [[nodiscard]] static bool is_nan(uint16_t bits) { return (bits & 0x7fff) > kExponent; }
};

/// bfloat16: the upper half of an f32.
struct Bfloat {
  static constexpr uint16_t kSign = 0x8000;          ///< the sign's bit
  static constexpr uint16_t kExponent = 0x7f80;      ///< the exponent's bits
  static constexpr uint16_t kCanonicalNan = 0x7fff;  ///< the NaN that instructions give
  static constexpr uint16_t kOne = 0x3f80;           ///< 1.0
  static constexpr uint16_t kMaxFinite = 0x7f7f;     ///< the largest finite number

  /// The value, exactly.
  [[nodiscard]] static float to_float(uint16_t bits) {
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }

  /// Nearest even; NaN becomes the canonical NaN, overflow infinity.
  [[nodiscard]] static uint16_t from_float(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? kCanonicalNan : rounded);
  }

  /// Whether it is a NaN.
  [[nodiscard]] static bool is_nan(uint16_t bits) { return (bits & 0x7fff) > kExponent; }
};

}  // namespace bw::sim
