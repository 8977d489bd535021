#pragma once
/// \file
/// Stores to global memory that the compiler leaves whole: of a loop's vector stores it makes some
/// into four of 4 bytes each (PTX ISA, "st").

#include <cstdint>

namespace bw::ptx {

// st.global.v4.u32 [a], b;
// PTX ISA 1.0, sm_10
/// Stores 16 bytes to global memory, at a multiple of 16.
__device__ __forceinline__ void store_global_v4(void* pointer, const uint4& value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

}  // namespace bw::ptx
