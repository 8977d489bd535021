#pragma once
/// \file
/// Rounds blocks of fp32 to MXFP8 or NVFP4: the scale of each block, and its codes.

#include <cstdint>

#include "common/device/block_format.cuh"
#include "common/device/convert_narrow.cuh"
#include "common/device/exercise.cuh"

namespace bw {

/// What one thread does with the values of a row that it has in registers, block by block.
template <BlockFormat format>
class BlockQuantiser {
  static_assert(format != BlockFormat::kMxfp4, "D is quantised to MXFP8 or NVFP4");

 public:
  static constexpr int kBlock = scale_block(format);  ///< values that share a scale
  /// Words of a block's codes.
  static constexpr int kWords = kBlock * element_bits(format) / 32;

  /// `inverse_factor`: 1 / the factor of the whole matrix, which is 1 for MXFP8.
  __device__ __forceinline__ explicit BlockQuantiser(float inverse_factor)
      : inverse_factor_(inverse_factor) {}

  /// Fills `words` with the codes of `block` and returns the code of its scale.
  __device__ __forceinline__ uint32_t quantise(const float (&block)[kBlock],
                                               uint32_t (&words)[kWords]) const {
    float largest = 0;
#pragma unroll
    for (const float value : block) largest = fmaxf(largest, fabsf(value));
    const uint32_t scale = scale_for(largest);
    const float inverse = inverse_of(scale);
#pragma unroll
    for (int word = 0; word < kWords; ++word) words[word] = codes_of(block, word, inverse);
    return scale;
  }

 private:
  /// The code of the scale of a block whose largest magnitude is `largest`.
  __device__ __forceinline__ uint32_t scale_for(float largest) const {
    if constexpr (has_ue8m0_scales(format)) {
      return ue8m0_scale_for(largest);
    } else {
      constexpr float kLargestE2m1 = 6;
      return ptx::pack_e4m3x2(largest * (inverse_factor_ / kLargestE2m1), 0.0f);
    }
  }

  /// The same for elements of e4m3: a power of two.
  static __device__ __forceinline__ uint32_t ue8m0_scale_for(float largest) {
    constexpr float kLargestE4m3 = 448;
    // >>> exercise 7.9 "A scale that is large enough"
    // Code c is 2^(c - 127). The elements will be divided by the scale.
    BW_EXERCISE_NOT_DONE("7.9", "A scale that is large enough");
    // <<< exercise 7.9
  }

  /// What values are multiplied by before they are rounded. A scale of 0 makes every code 0.
  __device__ __forceinline__ float inverse_of(uint32_t scale) const {
    if constexpr (has_ue8m0_scales(format)) {
      // 2^(127 - scale), exactly; 2^-127 isn't a normal number.
      constexpr uint32_t kLargestCode = 254, kMantissaBits = 23;
      constexpr float kSmallest = 0x1p-127f;
      return scale == kLargestCode ? kSmallest
                                   : __uint_as_float((kLargestCode - scale) << kMantissaBits);
    } else {
      return scale == 0 ? 0.0f : inverse_factor_ / ptx::e4m3_value(scale);
    }
  }

  /// Four or eight codes, the first one in the lowest bits.
  static __device__ __forceinline__ uint32_t codes_of(const float (&block)[kBlock], int word,
                                                      float inverse) {
    constexpr int kPerWord = 32 / element_bits(format), kPairBits = 2 * element_bits(format);
    uint32_t codes = 0;
#pragma unroll
    for (int pair = 0; pair < kPerWord / 2; ++pair) {
      const float low = block[word * kPerWord + 2 * pair] * inverse;
      const float high = block[word * kPerWord + 2 * pair + 1] * inverse;
      const uint32_t two =
          element_bits(format) == 8 ? ptx::pack_e4m3x2(low, high) : ptx::pack_e2m1x2(low, high);
      codes |= two << pair * kPairBits;
    }
    return codes;
  }

  float inverse_factor_;
};

}  // namespace bw
