#pragma once
/// \file
/// Any binary floating-point format: exact decoding, and encoding with every rounding mode.
///
/// This is the general, slow path of conversions and the source of their lookup tables; everything
/// is constexpr. Formats: IEEE 754, OCP "8-bit Floating Point Specification" (e4m3, e5m2) and OCP
/// "Microscaling Formats" (e2m3, e3m2, e2m1).

#include <bit>
#include <cstdint>

#include "common/simulator/units/alu/rounding.hpp"

namespace bw::sim {

/// A binary floating-point format.
struct FloatFormat {
  /// Which special values the largest exponent holds.
  enum class Specials : uint8_t {
    ieee,      ///< infinities and NaNs
    nan_only,  ///< e4m3: all ones is NaN, no infinity
    none,      ///< e2m3, e3m2, e2m1: finite numbers only
  };
  int exponent_bits = 0;               ///< of the exponent
  int mantissa_bits = 0;               ///< of the fraction
  Specials specials = Specials::ieee;  ///< whether there are infinities and NaNs
  uint64_t canonical_nan = 0;          ///< what PTX conversions produce

  /// Bits of all.
  [[nodiscard]] constexpr int width() const { return 1 + exponent_bits + mantissa_bits; }
  /// Of the exponent.
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// The least exponent of a normal number.
  [[nodiscard]] constexpr int smallest_normal_exponent() const { return 1 - bias(); }
  /// The sign's place.
  [[nodiscard]] constexpr uint64_t sign_bit() const { return uint64_t{1} << (width() - 1); }
  /// The code of the greatest finite number.
  [[nodiscard]] constexpr uint64_t greatest() const {
    const uint64_t ones = sign_bit() - 1;
    if (specials == Specials::ieee) return ones - (uint64_t{1} << mantissa_bits);
    return specials == Specials::nan_only ? ones - 1 : ones;
  }
};

// NaNs: f32 and narrower give all ones in exponent and mantissa; formats without NaN give +max.
/// 64 bits.
inline constexpr FloatFormat kFormatF64{11, 52, FloatFormat::Specials::ieee,
                                        0x7fff'ffff'ffff'ffffull};
/// 32 bits.
inline constexpr FloatFormat kFormatF32{8, 23, FloatFormat::Specials::ieee, 0x7fffffff};
inline constexpr FloatFormat kFormatTf32{8, 10, FloatFormat::Specials::ieee, 0x3ffff};  ///< 19 bits
inline constexpr FloatFormat kFormatF16{5, 10, FloatFormat::Specials::ieee, 0x7fff};    ///< 16 bits
/// 16 bits, the exponent of fp32.
inline constexpr FloatFormat kFormatBf16{8, 7, FloatFormat::Specials::ieee, 0x7fff};
inline constexpr FloatFormat kFormatE4m3{4, 3, FloatFormat::Specials::nan_only, 0x7f};  ///< 8 bits
inline constexpr FloatFormat kFormatE5m2{5, 2, FloatFormat::Specials::ieee, 0x7f};      ///< 8 bits
inline constexpr FloatFormat kFormatE2m3{2, 3, FloatFormat::Specials::none, 0x1f};      ///< 6 bits
inline constexpr FloatFormat kFormatE3m2{3, 2, FloatFormat::Specials::none, 0x1f};      ///< 6 bits
inline constexpr FloatFormat kFormatE2m1{2, 1, FloatFormat::Specials::none, 0x7};       ///< 4 bits

/// (-1)^negative * significand * 2^exponent, an infinity or a NaN.
struct ExactValue {
  /// What it can be.
  enum class Kind : uint8_t { finite, infinite, nan };
  Kind kind = Kind::finite;  ///< which one it is
  bool negative = false;     ///< the sign
  uint64_t significand = 0;  ///< the digits, as an integer
  int exponent = 0;          ///< the power of two that the significand is multiplied by
};

/// Takes the bits apart.
[[nodiscard]] constexpr ExactValue decode(uint64_t bits, const FloatFormat& format) {
  ExactValue value;
  value.negative = (bits & format.sign_bit()) != 0;
  const uint64_t magnitude = bits & (format.sign_bit() - 1);
  if (magnitude > format.greatest()) {
    const bool infinite =
        format.specials == FloatFormat::Specials::ieee && magnitude == format.greatest() + 1;
    value.kind = infinite ? ExactValue::Kind::infinite : ExactValue::Kind::nan;
    return value;
  }
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const auto field = static_cast<int>(magnitude >> format.mantissa_bits);
  value.significand = (magnitude & (hidden - 1)) | (field != 0 ? hidden : 0);
  value.exponent = (field != 0 ? field : 1) - format.bias() - format.mantissa_bits;
  return value;
}

/// An integer of `negative` sign and the given magnitude.
[[nodiscard]] constexpr ExactValue exact_integer(bool negative, uint64_t magnitude) {
  return {ExactValue::Kind::finite, negative && magnitude != 0, magnitude, 0};
}

/// significand * 2^-shift, rounded to an integer; `shift` may be zero or negative when that is
/// exact.
[[nodiscard]] constexpr uint64_t shift_and_round(uint64_t significand, int shift, bool negative,
                                                 Rounding rounding) {
  if (shift <= 0) return significand << -shift;
  const bool far = shift > 64;
  const uint64_t kept = shift >= 64 ? 0 : significand >> shift;
  // The lost part, as a fraction of 2^64.
  const uint64_t lost = far ? (significand != 0 ? 1 : 0) : significand << (64 - shift);
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  bool up = false;
  switch (rounding) {
    case Rounding::nearest_even:
      up = lost > kHalf || (lost == kHalf && (kept & 1) != 0);
      break;
    case Rounding::nearest_away:
      up = lost >= kHalf;
      break;
    case Rounding::toward_zero:
      break;
    case Rounding::down:
      up = negative && lost != 0;
      break;
    case Rounding::up:
      up = !negative && lost != 0;
      break;
  }
  return kept + (up ? 1 : 0);
}

/// Random bits of .rs: a fraction of one unit in the last place, `count` bits after the point.
struct RandomFraction {
  uint32_t bits = 0;  ///< the encoding
  int count = 0;      ///< of the bits
};

/// significand * 2^-shift, rounded away from zero where the part that is lost and the random
/// fraction together reach 1.
[[nodiscard]] constexpr uint64_t shift_and_round(uint64_t significand, int shift,
                                                 RandomFraction random) {
  if (shift <= 0) return significand << -shift;
  const uint64_t kept = shift >= 64 ? 0 : significand >> shift;
  const int below = shift - 64;  // a lost part below 2^-64 never makes a carry
  const uint64_t lost = below >= 64 ? 0 : below > 0 ? significand >> below : significand << -below;
  const uint64_t fraction = uint64_t{random.bits} << (64 - random.count);
  return kept + (lost + fraction < fraction ? 1 : 0);
}

namespace detail {

/// The code of a value whose significand `round(significand, shift)` rounds. `stays_finite`: an
/// overflow becomes the greatest number, not infinity.
template <class Round>
[[nodiscard]] constexpr uint64_t encode_with(const ExactValue& value, const FloatFormat& format,
                                             bool saturate_finite, bool stays_finite,
                                             Round&& round) {
  using Specials = FloatFormat::Specials;
  if (value.kind == ExactValue::Kind::nan) return format.canonical_nan;
  const uint64_t sign = value.negative ? format.sign_bit() : 0;
  const bool infinity_fits = format.specials == Specials::ieee && !saturate_finite;
  const uint64_t beyond = sign | (infinity_fits ? format.greatest() + 1 : format.greatest());
  if (value.kind == ExactValue::Kind::infinite) return beyond;
  if (value.significand == 0) return sign;
  const int leading = 63 - std::countl_zero(value.significand) + value.exponent;
  const int smallest = format.smallest_normal_exponent();
  const int scale = leading > smallest ? leading : smallest;
  const uint64_t kept = round(value.significand, scale - format.mantissa_bits - value.exponent);
  // The hidden bit of a normal number carries into the exponent field.
  const uint64_t code = (static_cast<uint64_t>(scale - smallest) << format.mantissa_bits) + kept;
  if (scale - smallest < (1 << format.exponent_bits) && code <= format.greatest())
    return sign | code;
  return stays_finite ? sign | format.greatest() : beyond;
}

}  // namespace detail

/// The code of a value. Overflow becomes infinity or the greatest number, as the rounding says;
/// with `saturate_finite` (.satfinite), and in formats without infinity, always the greatest
/// number.
[[nodiscard]] constexpr uint64_t encode(const ExactValue& value, const FloatFormat& format,
                                        Rounding rounding, bool saturate_finite = false) {
  const bool towards_zero = rounding == Rounding::toward_zero ||
                            rounding == (value.negative ? Rounding::up : Rounding::down);
  return detail::encode_with(value, format, saturate_finite, towards_zero,
                             [&](uint64_t significand, int shift) {
                               return shift_and_round(significand, shift, value.negative, rounding);
                             });
}

/// The same with stochastic rounding (.rs); overflow becomes infinity where the format has one.
[[nodiscard]] constexpr uint64_t encode(const ExactValue& value, const FloatFormat& format,
                                        RandomFraction random, bool saturate_finite) {
  return detail::encode_with(
      value, format, saturate_finite, false,
      [&](uint64_t significand, int shift) { return shift_and_round(significand, shift, random); });
}

}  // namespace bw::sim
