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

// cvt.rn.satfinite.e2m1x2.f32 d, a, b;   a goes to the upper half of the byte d, b to the lower
// PTX ISA 8.6, sm_100a
/// Rounds two fp32 to nearest even, with saturation to ±6; `low` comes first in memory.
__device__ __forceinline__ uint32_t pack_e2m1x2(float low, float high) {
  uint16_t packed;
  asm("{\n"
      " .reg .b8 pair;\n"
      " cvt.rn.satfinite.e2m1x2.f32 pair, %1, %2;\n"
      " mov.b16 %0, {pair, 0};\n"
      "}"
      : "=h"(packed)
      : "f"(high), "f"(low));
  return packed;
}

// cvt.rn.f16x2.e4m3x2 d, a;   cvt.f32.f16 d, a
// PTX ISA 8.1, sm_89
/// The value of an e4m3 code, exactly.
__device__ __forceinline__ float e4m3_value(uint32_t code) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(code)));
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(halves)));
  return value;
}

}  // namespace bw::ptx
