#pragma once
/// \file
/// Sums of floating-point products in warp-level matrix instructions, element by element.
///
/// The rule is an H100's (SummationModel::hopper), found from 33 forms of mma.sync and mma.sp whose
/// bits it all gives (tests/hardware/mma_sync_cases.cu): a step's products and the accumulator are
/// one sum.
/// - Products are exact. Each has the sum of its factors' exponents; a subnormal factor has the
///   exponent of the smallest normal number.
/// - All terms are aligned to the largest exponent of those that are not zero. What lies more than
///   kWarpMmaFractionBits below it is cut off, towards zero; the rest is summed exactly.
/// - An f32 result is cut to its 23 fraction bits, towards zero; an f16 result is rounded to
/// nearest
///   even.

#include <cstddef>
#include <cstdint>

namespace bw::sim {

inline constexpr int kWarpMmaFractionBits = 25;  ///< that the sum of a step keeps

/// A step of one element of D.
struct WarpMmaStep {
  const float* a = nullptr;      ///< k elements, `a_stride` apart
  size_t a_stride = 1;           ///< from one element of A to the next
  const float* b = nullptr;      ///< k elements, contiguous
  int k = 0;                     ///< products of the step
  uint64_t used = ~uint64_t{0};  ///< bit i: product i takes part (of sparse A the kept ones)
  int least_exponent = -126;     ///< of the smallest normal number of A's and B's format
  bool half_result = false;      ///< D is f16 (its value is returned as f32)
};

/// The accumulator and the step's products as an H100 sums them.
[[nodiscard]] float hopper_warp_mma_sum(const WarpMmaStep& step, float accumulator);

}  // namespace bw::sim
