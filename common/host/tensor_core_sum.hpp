#pragma once
/// \file
/// The sums of Hopper's FP8 tensor cores, bit for bit (measured on an H100; chapter 6, "How many
/// bits the tensor cores keep"), for the host and for device code.
///
/// One wgmma step of 32 products a · b of e4m3 and an fp32 accumulator is one sum:
/// - The products are exact. Each has the exponent of its factors' fields added (a subnormal's is
///   that of the smallest normal number): its magnitude is below 4 times 2^exponent, not 2.
/// - All 33 terms are aligned to the largest exponent among those that aren't zero, and the part
///   below 2^-13 of it is cut off, towards zero. The sum of the remaining parts is exact.
/// - The result keeps 13 fraction bits of its own exponent; the others are cut off, towards zero.

#include <bit>
#include <cstdint>

#include "common/host/number_formats.hpp"

namespace bw {

/// Fraction bits that the tensor cores keep, of a term and of a result.
constexpr int kTensorCoreFractionBits = 13;
/// Products that one wgmma step of e4m3 sums.
constexpr int kTensorCoreProducts = 32;
/// Columns of K whose sum starts at zero and is promoted to fp32.
constexpr int kPromotedProducts = 128;

/// 2^exponent, for exponents of normal fp32 numbers.
constexpr float power_of_two(int exponent) {
  constexpr int kBias = 127, kFractionBits = 23;
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + kBias) << kFractionBits);
}

namespace detail {

constexpr int kFp8FractionBits = 3;    ///< of e4m3
constexpr int kFp8Bias = 7;            ///< of the exponent of e4m3
constexpr int kFp32FractionBits = 23;  ///< of fp32
constexpr int kFp32Bias = 127;         ///< of the exponent of fp32
constexpr int kAllShiftedOut = 31;     ///< a shift that leaves nothing

/// Exponent of a finite e4m3 number's field: of its leading bit, unless it is subnormal.
constexpr int field_exponent(Fp8E4m3 value) {
  const int field = value.bits >> kFp8FractionBits & 0xf;
  return (field == 0 ? 1 : field) - kFp8Bias;
}
/// Its signed significand, in units of 2^(exponent - 3).
constexpr int significand(Fp8E4m3 value) {
  const int fraction = value.bits & 7;
  const int magnitude = (value.bits & 0x78) == 0 ? fraction : fraction + 8;
  return value.bits & 0x80 ? -magnitude : magnitude;
}

/// `value` / 2^shift, cut off towards zero.
constexpr int shifted_out(int value, int shift) {
  const int magnitude =
      (value < 0 ? -value : value) >> (shift < kAllShiftedOut ? shift : kAllShiftedOut);
  return value < 0 ? -magnitude : magnitude;
}

}  // namespace detail

/// The accumulator after one wgmma step of `kTensorCoreProducts` e4m3 from `a` and `b`, none a NaN.
/// The accumulator and the result are normal numbers or zero.
constexpr float tensor_core_step(const Fp8E4m3* a, const Fp8E4m3* b, float accumulator) {
  using namespace detail;
  constexpr int kNone = -1000;
  // Both are magnitudes of terms with the largest exponent, in units of its last kept bit.
  constexpr int kProductShift = kTensorCoreFractionBits - 2 * kFp8FractionBits;
  constexpr int kAccumulatorShift = kFp32FractionBits - kTensorCoreFractionBits;
  static_assert(kProductShift >= 0, "a product with the largest exponent loses no bit");

  const uint32_t bits = std::bit_cast<uint32_t>(accumulator);
  const int accumulator_exponent = static_cast<int>(bits >> kFp32FractionBits & 0xff) - kFp32Bias;
  int largest = accumulator == 0 ? kNone : accumulator_exponent;
  for (int k = 0; k < kTensorCoreProducts; ++k) {
    const int exponent = field_exponent(a[k]) + field_exponent(b[k]);
    if (significand(a[k]) * significand(b[k]) != 0 && exponent > largest) largest = exponent;
  }
  if (largest == kNone) return 0;

  int sum = 0;
  for (int k = 0; k < kTensorCoreProducts; ++k) {
    const int product = significand(a[k]) * significand(b[k]);
    const int exponent = field_exponent(a[k]) + field_exponent(b[k]);
    if (product != 0) sum += shifted_out(product * (1 << kProductShift), largest - exponent);
  }
  if (accumulator != 0) {
    constexpr uint32_t kLeadingBit = 1u << kFp32FractionBits;
    const int magnitude = static_cast<int>((bits & (kLeadingBit - 1)) | kLeadingBit);
    sum += shifted_out(accumulator < 0 ? -magnitude : magnitude,
                       kAccumulatorShift + largest - accumulator_exponent);
  }
  // At most 33 terms below 2^15: exact in fp32, whose sign and magnitude are then cut.
  const uint32_t kept =
      std::bit_cast<uint32_t>(static_cast<float>(sum)) & (~0u << kAccumulatorShift);
  return std::bit_cast<float>(kept) * power_of_two(largest - kTensorCoreFractionBits);
}

/// The sum that a chain of wgmma gives for one K block: `count` (at most kPromotedProducts) values
/// of `a` and `b`, zero beyond them.
constexpr float tensor_core_block(const Fp8E4m3* a, const Fp8E4m3* b, int64_t count) {
  float sum = 0;
  for (int64_t first = 0; first < count; first += kTensorCoreProducts) {
    if (count - first >= kTensorCoreProducts) {
      sum = tensor_core_step(a + first, b + first, sum);
      continue;
    }
    Fp8E4m3 rest_a[kTensorCoreProducts] = {}, rest_b[kTensorCoreProducts] = {};
    for (int64_t k = first; k < count; ++k) {
      rest_a[k - first] = a[k];
      rest_b[k - first] = b[k];
    }
    sum = tensor_core_step(rest_a, rest_b, sum);
  }
  return sum;
}

}  // namespace bw
