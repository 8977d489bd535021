#include "common/simulator/units/tensor_core/warp_mma_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bw::sim {
namespace {

constexpr int kFp32FractionBits = 23, kFp32Bias = 127, kFp32ExponentMask = 0xff;
constexpr int kFp64FractionBits = 52, kFp64Bias = 1023;
constexpr int kLeastFp32Exponent = -126;
/// Exponent of zero: far below all others, also as a sum of two.
constexpr int kZeroExponent = -100000;

int exponent_of(float value, int least) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (bits << 1 == 0) return kZeroExponent;
  return std::max(static_cast<int>(bits >> kFp32FractionBits & kFp32ExponentMask) - kFp32Bias,
                  least);
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kFp64Bias) << kFp64FractionBits);
}

/// Rounded towards zero.
float cut_to_f32(double value) {
  constexpr int kLeastBit = -149;
  constexpr uint64_t kKept = ~uint64_t{0} << (kFp64FractionBits - kFp32FractionBits);
  double kept = std::bit_cast<double>(std::bit_cast<uint64_t>(value) & kKept);
  if (std::fabs(kept) < power_of_two(kLeastFp32Exponent))
    kept = std::trunc(kept * power_of_two(-kLeastBit)) * power_of_two(kLeastBit);
  return static_cast<float>(kept);
}

/// Rounded to nearest even, and at once: not to f32 first.
float round_to_f16(double value) {
  constexpr int kFractionBits = 10, kLeast = -14;
  constexpr double kOverflow = 65520;  // halfway from the greatest number to the next
  const double magnitude = std::fabs(value);
  if (magnitude >= kOverflow) return static_cast<float>(std::copysign(HUGE_VAL, value));
  const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> kFp64FractionBits);
  const double unit = power_of_two(std::max(exponent - kFp64Bias, kLeast) - kFractionBits);
  return static_cast<float>(std::nearbyint(value / unit) * unit);
}

/// With an infinity or a NaN among the terms.
float special_sum(const WarpMmaStep& step, float accumulator) {
  double sum = accumulator;
  for (int i = 0; i < step.k; ++i)
    if ((step.used >> i & 1) != 0)
      sum += double{step.a[static_cast<size_t>(i) * step.a_stride]} * double{step.b[i]};
  return static_cast<float>(sum);
}

}  // namespace

float hopper_warp_mma_sum(const WarpMmaStep& step, float accumulator) {
  int largest = exponent_of(accumulator, kLeastFp32Exponent);
  bool special = !std::isfinite(accumulator);
  for (int i = 0; i < step.k; ++i) {
    if ((step.used >> i & 1) == 0) continue;
    const float a = step.a[static_cast<size_t>(i) * step.a_stride], b = step.b[i];
    special |= !std::isfinite(a) || !std::isfinite(b);
    largest = std::max(largest,
                       exponent_of(a, step.least_exponent) + exponent_of(b, step.least_exponent));
  }
  if (special) return special_sum(step, accumulator);
  if (largest <= kZeroExponent / 2) return 0.0f;
  const double scale = power_of_two(kWarpMmaFractionBits - largest);
  double sum = std::trunc(accumulator * scale);
  for (int i = 0; i < step.k; ++i)
    if ((step.used >> i & 1) != 0)
      sum += std::trunc(double{step.a[static_cast<size_t>(i) * step.a_stride]} * double{step.b[i]} *
                        scale);
  const double value = sum * power_of_two(largest - kWarpMmaFractionBits);
  return step.half_result ? round_to_f16(value) : cut_to_f32(value);
}

}  // namespace bw::sim
