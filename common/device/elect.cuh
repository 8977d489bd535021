#pragma once
/// \file
/// Election of one lane of a converged warp (PTX ISA, "elect.sync").

#include <cstdint>

namespace bw::ptx {

/// Mask of all 32 lanes.
constexpr uint32_t kFullWarpMask = 0xffffffffu;
constexpr int kWarpThreads = 32;  ///< threads of a warp

// elect.sync d|p, membermask;
// PTX ISA 8.0, sm_90
/// True in exactly one lane of the warp. The choice is the same at every call, which the
/// per-thread state of bulk groups and tcgen05.commit relies on. All 32 lanes.
__device__ __forceinline__ bool elect_one() {
  uint32_t elected;
  asm volatile(
      "{\n\t"
      ".reg .pred elected;\n\t"
      "elect.sync _|elected, %1;\n\t"
      "selp.b32 %0, 1, 0, elected;\n\t"
      "}"
      : "=r"(elected)
      : "n"(kFullWarpMask));
  return elected != 0;
}

}  // namespace bw::ptx
