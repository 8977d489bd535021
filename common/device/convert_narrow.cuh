#pragma once
/// \file
/// Conversions from fp32 to 8-bit elements and scales (PTX ISA, "cvt").

#include <cstdint>

namespace bw::ptx {

// cvt.rn.satfinite.e4m3x2.f32 d, a, b;   a goes to the upper byte of d, b to the lower
// PTX ISA 8.1, sm_89
/// Rounds two fp32 to nearest even, with saturation to ±448; `low` comes first in memory.
__device__ __forceinline__ uint32_t pack_e4m3x2(float low, float high) {
  uint16_t packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  return packed;
}

// cvt.rp.satfinite.ue8m0x2.f32 d, a, b;   a goes to the upper byte of d, b to the lower
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// The code of the smallest power of two that isn't less than a positive `value`.
__device__ __forceinline__ uint32_t round_up_to_ue8m0(float value) {
  constexpr uint32_t kLowByte = 0xff;
  uint16_t packed;
  asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(0.0f), "f"(value));
  return packed & kLowByte;
}

}  // namespace bw::ptx
