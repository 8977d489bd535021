#pragma once
/// \file
/// Moving registers from one group of four warps to another (PTX ISA, "setmaxnreg").

#include "common/device/min_max.cuh"

namespace bw::ptx {

/// The most registers that each thread of a CTA of `threads` threads can be launched with: an SM
/// has 65536, they are given out in eights, and an instruction can name 255.
constexpr int registers_at_launch(int threads) {
  constexpr int kRegistersPerSm = 65536, kUnit = 8, kMost = 255;
  return min_of(kMost, kRegistersPerSm / threads / kUnit * kUnit);
}

// setmaxnreg.inc.sync.aligned.u32 imm;
// PTX ISA 8.0, sm_90a; PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// All warps of a warpgroup: from here on each thread has `registers` registers, a multiple of 8
/// up to 256. Blocks until other warpgroups of the CTA have released enough registers.
template <int registers>
__device__ __forceinline__ void increase_registers() {
  static_assert(registers % 8 == 0 && registers >= 24 && registers <= 256,
                "setmaxnreg takes a multiple of 8 from 24 to 256");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// setmaxnreg.dec.sync.aligned.u32 imm;
// PTX ISA 8.0, sm_90a; PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// All warps of a warpgroup: from here on each thread makes do with `registers` registers, a
/// multiple of 8; the others go back to the CTA.
template <int registers>
__device__ __forceinline__ void decrease_registers() {
  static_assert(registers % 8 == 0 && registers >= 24 && registers <= 256,
                "setmaxnreg takes a multiple of 8 from 24 to 256");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

}  // namespace bw::ptx
