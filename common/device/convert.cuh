#pragma once
/// \file
/// Conversions between fp32 and bf16 pairs.

#include <cstdint>

namespace bw::ptx {

// cvt.rn.bf16x2.f32 d, a, b;   a goes to the upper half of d, b to the lower
// PTX ISA 7.0, sm_80
/// Rounds two fp32 to nearest even; `low` comes first in memory.
__device__ __forceinline__ uint32_t pack_bf16x2(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// The first element in memory of a bf16 pair, as fp32 (exact).
__device__ __forceinline__ float unpack_bf16_low(uint32_t packed) {
  return __uint_as_float(packed << 16);
}

/// The second element in memory of a bf16 pair, as fp32 (exact).
__device__ __forceinline__ float unpack_bf16_high(uint32_t packed) {
  return __uint_as_float(packed & 0xffff0000u);
}

}  // namespace bw::ptx
