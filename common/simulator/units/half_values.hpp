// Scalar conversions between 16-bit floating-point formats and float, round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace bw::sim {

/// IEEE 754 binary16.
struct HalfFormat {
  [[nodiscard]] static float to_float(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u)  // infinity and NaN
      return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    // The multiplication moves the exponent bias from 15 to 127 and normalises subnormals exactly.
    constexpr float kRebias = 0x1p112f;
    const float value = std::bit_cast<float>(magnitude << 13) * kRebias;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  [[nodiscard]] static std::uint16_t from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fffu;  // PTX's canonical NaN
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u) {  // subnormal result: the addition rounds at the right bit
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
};

/// bfloat16: the upper half of a float.
struct Bfloat16Format {
  [[nodiscard]] static float to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  [[nodiscard]] static std::uint16_t from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;  // PTX's canonical NaN
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
};

}  // namespace bw::sim
