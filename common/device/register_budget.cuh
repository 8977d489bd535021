#pragma once
/// \file
/// Moving registers from one group of four warps to another (PTX ISA, "setmaxnreg").

namespace bw::ptx {

// setmaxnreg.inc.sync.aligned.u32 imm;
// PTX ISA 8.0, sm_90a; PTX ISA 8.6, sm_100a
/// All warps of a warpgroup: from here on each thread has `registers` registers, a multiple of 8
/// up to 256. Blocks until other warpgroups of the CTA have given up so many.
template <int registers>
__device__ __forceinline__ void increase_registers() {
  static_assert(registers % 8 == 0 && registers >= 24 && registers <= 256,
                "setmaxnreg takes a multiple of 8 from 24 to 256");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// setmaxnreg.dec.sync.aligned.u32 imm;
// PTX ISA 8.0, sm_90a; PTX ISA 8.6, sm_100a
/// All warps of a warpgroup: from here on each thread makes do with `registers` registers, a
/// multiple of 8; the others go back to the CTA.
template <int registers>
__device__ __forceinline__ void decrease_registers() {
  static_assert(registers % 8 == 0 && registers >= 24 && registers <= 256,
                "setmaxnreg takes a multiple of 8 from 24 to 256");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

}  // namespace bw::ptx
