#pragma once
/// \file
/// fp32 arithmetic on two values in one instruction.

#include <cstdint>

namespace bw::ptx {

// fma.rnd{.ftz}.f32x2  d, a, b, c;
// .rnd = { .rn, .rz, .rm, .rp };
// PTX ISA 8.6, sm_100
/// a * b + c for both halves, each rounded once to nearest even: the bits of two `fmaf`. Operands
/// and result are pairs of neighbouring registers. A lane's own instruction: any threads.
__device__ __forceinline__ float2 fma_f32x2(float2 a, float2 b, float2 c) {
  float2 d;
  asm("{\n\t"
      ".reg .b64 a, b, c, d;\n\t"
      "mov.b64 a, {%2, %3};\n\t"
      "mov.b64 b, {%4, %5};\n\t"
      "mov.b64 c, {%6, %7};\n\t"
      "fma.rn.f32x2 d, a, b, c;\n\t"
      "mov.b64 {%0, %1}, d;\n\t"
      "}"
      : "=f"(d.x), "=f"(d.y)
      : "f"(a.x), "f"(a.y), "f"(b.x), "f"(b.y), "f"(c.x), "f"(c.y));
  return d;
}

}  // namespace bw::ptx
