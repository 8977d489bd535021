#include "common/simulator/units/tensor_core/hopper_accumulation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.hpp"

namespace bw::sim {
namespace {

/// Bits that the tensor cores keep of the terms of a step, and of its result.
struct Precision {
  int fraction_bits, result_bits;
};

bool is_fp8(MmaFormat format) { return format == MmaFormat::e4m3 || format == MmaFormat::e5m2; }

constexpr Precision kFp8Precision = {kFp8FractionBits, kFp8FractionBits};
constexpr Precision kOtherPrecision = {25, 23};

// Exponents of the smallest normal numbers.
constexpr int kLeastF32 = -126, kLeastF16 = -14, kLeastE4m3 = -6;

int least_exponent(MmaFormat format) {
  switch (format) {
    case MmaFormat::f16:
    case MmaFormat::e5m2:
      return kLeastF16;
    case MmaFormat::e4m3:
      return kLeastE4m3;
    default:
      return kLeastF32;
  }
}
int least_exponent(AccumulatorFormat format) {
  return format == AccumulatorFormat::f16 ? kLeastF16 : kLeastF32;
}

constexpr int kFp32FractionBits = 23, kFp32Bias = 127, kFp32ExponentMask = 0xff;
/// Exponent of a zero: far below all others, also as a sum of two.
constexpr int kZeroExponent = -100000;

int exponent_of(float value, int least) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits << 1) == 0) return kZeroExponent;
  return std::max(static_cast<int>(bits >> kFp32FractionBits & kFp32ExponentMask) - kFp32Bias,
                  least);
}

bool is_finite(float value) {
  return (std::bit_cast<uint32_t>(value) >> kFp32FractionBits & kFp32ExponentMask) !=
         kFp32ExponentMask;
}

/// 2^exponent.
double power_of_two(int exponent) {
  constexpr int kBias = 1023, kFractionBits = 52;
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kFractionBits);
}

/// `value` with `fraction_bits` fraction bits, in fp32: the others are cut off, towards zero.
float cut_result(double value, int fraction_bits) {
  constexpr int kDoubleFractionBits = 52, kLeastBit = -149;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  bits &= ~uint64_t{0} << (kDoubleFractionBits - fraction_bits);
  double kept = std::bit_cast<double>(bits);
  if (std::fabs(kept) < power_of_two(kLeastF32))
    kept = std::trunc(kept * power_of_two(-kLeastBit)) * power_of_two(kLeastBit);
  return static_cast<float>(kept);
}

/// The nearest f16, ties to even; infinite from halfway above the largest.
float round_to_half(double value) {
  constexpr int kDoubleFractionBits = 52, kDoubleBias = 1023;
  constexpr int kHalfFractionBits = 10;
  constexpr double kOverflow = 65520;
  if (std::fabs(value) >= kOverflow)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value));
  const int exponent =
      static_cast<int>(std::bit_cast<uint64_t>(std::fabs(value)) >> kDoubleFractionBits) -
      kDoubleBias;
  const int last_bit = std::max(exponent, kLeastF16) - kHalfFractionBits;
  return static_cast<float>(std::nearbyint(value * power_of_two(-last_bit)) *
                            power_of_two(last_bit));
}

constexpr uint32_t kCanonicalNan = 0x7fffffffu;

/// The result of a sum that an infinity or a NaN takes part in: finite terms don't count.
float special_sum(const float* a, size_t a_stride, const float* b, size_t k, float accumulator) {
  float sum = is_finite(accumulator) ? 0.0f : accumulator;
  for (size_t i = 0; i < k; ++i)
    if (!is_finite(a[i * a_stride]) || !is_finite(b[i])) sum += a[i * a_stride] * b[i];
  return std::isnan(sum) ? std::bit_cast<float>(kCanonicalNan) : sum;
}

/// One step of one element.
float step(const float* a, size_t a_stride, const float* b, size_t k, float accumulator,
           const TileFormats& formats, const Precision& precision) {
  const int least_a = least_exponent(formats.a), least_b = least_exponent(formats.b);
  int largest = exponent_of(accumulator, least_exponent(formats.d));
  bool special = !is_finite(accumulator);
  for (size_t i = 0; i < k; ++i) {
    const float x = a[i * a_stride], y = b[i];
    special |= !is_finite(x) || !is_finite(y);
    largest = std::max(largest, exponent_of(x, least_a) + exponent_of(y, least_b));
  }
  if (special) return special_sum(a, a_stride, b, k, accumulator);
  if (largest < kZeroExponent / 2) return 0.0f;
  const double scale = power_of_two(precision.fraction_bits - largest);
  double sum = std::trunc(accumulator * scale);
  for (size_t i = 0; i < k; ++i) sum += std::trunc(double{a[i * a_stride]} * double{b[i]} * scale);
  if (sum == 0) return 0.0f;
  const double exact = sum * power_of_two(largest - precision.fraction_bits);
  return formats.d == AccumulatorFormat::f16 ? round_to_half(exact) + 0.0f
                                             : cut_result(exact, precision.result_bits) + 0.0f;
}

/// Element by element.
void multiply_each(const RowTile& tile, const TileFormats& formats) {
  const Precision& precision = is_fp8(formats.a) ? kFp8Precision : kOtherPrecision;
  for (size_t column = 0; column < tile.n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      float& d = tile.d[column * tile.d_stride + row];
      float sum = tile.accumulate ? d : 0.0f;
      for (size_t k = 0; k < tile.k; k += formats.step)
        sum = step(tile.a + k * kRowBlock + row, kRowBlock, tile.b + column * tile.b_stride + k,
                   formats.step, sum, formats, precision);
      d = sum;
    }
}

}  // namespace

void HopperAccumulation::multiply_together(std::span<const RowTile> tiles,
                                           const TileFormats& formats) const {
  const bool has_fp8_steps = is_fp8(formats.a) && is_fp8(formats.b) && formats.step == kFp8Step &&
                             formats.d == AccumulatorFormat::f32;
  if (has_fp8_steps && multiply_fp8(tiles, formats)) return;
  for (const RowTile& tile : tiles) multiply_each(tile, formats);
}

void HopperAccumulation::multiply(const RowTile& tile, const TileFormats& formats) const {
  multiply_together({&tile, 1}, formats);
}

}  // namespace bw::sim
