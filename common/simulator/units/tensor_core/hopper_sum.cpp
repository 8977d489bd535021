#include "common/simulator/units/tensor_core/hopper_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace bw::sim {
namespace {

constexpr int kFp32FractionBits = 23, kFp32Bias = 127, kFp32ExponentMask = 0xff;
constexpr int kFp64FractionBits = 52, kFp64Bias = 1023;
/// Exponent of a zero: far below all others, also as a sum of two.
constexpr int kZeroExponent = -100000;
constexpr uint32_t kCanonicalNan = 0x7fffffffu;

int exponent_of(float value, int least) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (bits << 1 == 0) return kZeroExponent;
  return std::max(static_cast<int>(bits >> kFp32FractionBits & kFp32ExponentMask) - kFp32Bias,
                  least);
}

bool is_finite(float value) {
  return (std::bit_cast<uint32_t>(value) >> kFp32FractionBits & kFp32ExponentMask) !=
         kFp32ExponentMask;
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kFp64Bias) << kFp64FractionBits);
}

/// `value` with `fraction_bits` fraction bits, in fp32: the others are cut off, towards zero.
float cut_result(double value, int fraction_bits) {
  constexpr int kLeastBit = -149;
  const uint64_t kept_bits = ~uint64_t{0} << (kFp64FractionBits - fraction_bits);
  double kept = std::bit_cast<double>(std::bit_cast<uint64_t>(value) & kept_bits);
  if (std::fabs(kept) < power_of_two(kLeastF32Exponent))
    kept = std::trunc(kept * power_of_two(-kLeastBit)) * power_of_two(kLeastBit);
  return static_cast<float>(kept);
}

/// The nearest f16, ties to even, and at once: not to f32 first.
float round_to_half(double value) {
  constexpr int kHalfFractionBits = 10;
  constexpr double kOverflow = 65520;  // halfway from the greatest number to the next
  const double magnitude = std::fabs(value);
  if (magnitude >= kOverflow)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value));
  const int exponent =
      static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> kFp64FractionBits) - kFp64Bias;
  const int last_bit = std::max(exponent, kLeastF16Exponent) - kHalfFractionBits;
  return static_cast<float>(std::nearbyint(value * power_of_two(-last_bit)) *
                            power_of_two(last_bit));
}

/// Calls visit(a, b) for the factors of each product that counts.
template <class Visit>
void for_products(const HopperStep& step, Visit&& visit) {
  for (size_t i = 0; i < step.k; ++i)
    if (~step.used == 0 || (step.used >> i & 1) != 0) visit(step.a[i * step.a_stride], step.b[i]);
}

/// The result of a sum that an infinity or a NaN takes part in: finite terms don't count.
float special_sum(const HopperStep& step, float accumulator) {
  float sum = is_finite(accumulator) ? 0.0f : accumulator;
  for_products(step, [&](float a, float b) {
    if (!is_finite(a) || !is_finite(b)) sum += a * b;
  });
  return std::isnan(sum) ? std::bit_cast<float>(kCanonicalNan) : sum;
}

}  // namespace

float hopper_sum(const HopperStep& step, float accumulator) {
  int largest = exponent_of(accumulator, step.least_accumulator);
  bool special = !is_finite(accumulator);
  for_products(step, [&](float a, float b) {
    special |= !is_finite(a) || !is_finite(b);
    largest = std::max(largest, exponent_of(a, step.least_a) + exponent_of(b, step.least_b));
  });
  if (special) return special_sum(step, accumulator);
  if (largest < kZeroExponent / 2) return 0.0f;
  const int fraction_bits = step.precision.fraction_bits;
  const double scale = power_of_two(fraction_bits - largest);
  double sum = std::trunc(accumulator * scale);
  for_products(step, [&](float a, float b) { sum += std::trunc(double{a} * double{b} * scale); });
  if (sum == 0) return 0.0f;
  const double exact = sum * power_of_two(largest - fraction_bits);
  // Adding a zero makes one that is left of a rounded or cut number positive.
  return (step.half_result ? round_to_half(exact) : cut_result(exact, step.precision.result_bits)) +
         0.0f;
}

}  // namespace bw::sim
