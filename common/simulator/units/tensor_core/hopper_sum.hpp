#pragma once
/// \file
/// One step of one element of D as an H100's tensor cores sum it, found from its results (mma.sync,
/// mma.sp, wgmma and wmma in tests/hardware, whose bits the rule all gives): a step's products and
/// the accumulator are one sum.
/// - Products are exact. Each has the exponents of its factors added; a subnormal factor has that
///   of the smallest normal number. The accumulator has its own.
/// - All terms are aligned to the largest exponent of those that are not zero. Bits more than
///   `fraction_bits` below it are cut off, towards zero; the rest is summed exactly.
/// - The result keeps `result_bits` fraction bits; the others are cut off, towards zero. As f16 it
///   is rounded instead, to nearest even. A zero is positive.
/// - A NaN, an infinity times zero or infinities of both signs give the NaN 0x7fffffff.

#include <cstddef>
#include <cstdint>

namespace bw::sim {

/// Bits that the tensor cores keep of the terms of a step, and of its result.
struct HopperPrecision {
  int fraction_bits;  ///< of a term, below the largest exponent
  int result_bits;    ///< of the result
};
/// Of all formats but FP8 in wgmma.
inline constexpr HopperPrecision kHopperPrecision = {25, 23};
/// Of FP8 in wgmma.
inline constexpr HopperPrecision kHopperFp8Precision = {13, 13};

// Exponents of the smallest normal numbers.
inline constexpr int kLeastF32Exponent = -126;  ///< also of bf16 and tf32
inline constexpr int kLeastF16Exponent = -14;   ///< also of e5m2
inline constexpr int kLeastE4m3Exponent = -6;   ///< of e4m3

/// A step of one element of D.
struct HopperStep {
  const float* a = nullptr;         ///< k elements, `a_stride` apart
  size_t a_stride = 1;              ///< from one element of A to the next
  const float* b = nullptr;         ///< k elements, contiguous
  size_t k = 0;                     ///< products of the step, at most 64 unless all count
  uint64_t used = ~uint64_t{0};     ///< bit i: product i counts (of sparse A the kept ones)
  int least_a = kLeastF32Exponent;  ///< of the smallest normal number of A's format
  int least_b = kLeastF32Exponent;  ///< of B's
  int least_accumulator = kLeastF32Exponent;     ///< of the accumulator's
  HopperPrecision precision = kHopperPrecision;  ///< what is kept
  bool half_result = false;                      ///< D is f16 (its value is returned as f32)
};

/// The accumulator and the step's products as an H100 sums them.
[[nodiscard]] float hopper_sum(const HopperStep& step, float accumulator);

}  // namespace bw::sim
