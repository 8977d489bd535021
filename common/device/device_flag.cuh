#pragma once
/// \file
/// Flags in global memory by which threads of different CTAs hand over data: what was written
/// before a release is seen after the acquire that reads its value (PTX ISA, "ld", "st", and
/// "Memory Consistency Model").

#include <cstdint>

namespace bw::ptx {

// st.release.gpu.global.u32 [a], b;
// PTX ISA 6.0, sm_70
/// Stores a flag; its acquirer sees all earlier writes of this thread, on the whole GPU.
__device__ __forceinline__ void store_release_gpu(uint32_t* flag, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(flag)),
               "r"(value)
               : "memory");
}

// ld.acquire.gpu.global.u32 d, [a];
// PTX ISA 6.0, sm_70
/// Reads a flag; earlier writes of its writer are visible after it.
__device__ __forceinline__ uint32_t load_acquire_gpu(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(flag))
               : "memory");
  return value;
}

}  // namespace bw::ptx
