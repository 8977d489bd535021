#pragma once
/// \file
/// Loads from and stores to shared memory by 32-bit address: loops whose addresses advance by
/// constants keep them in one register (PTX ISA, "ld").

#include <cstdint>

namespace bw::ptx {

// ld.shared.f32 d, [a];
// PTX ISA 1.0, sm_10
/// Loads a float from a shared address.
__device__ __forceinline__ float load_shared_f32(uint32_t address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

// ld.shared.v2.f32 d, [a];
// PTX ISA 1.0, sm_10
/// Loads two floats from a shared address, a multiple of 8.
__device__ __forceinline__ float2 load_shared_f32x2(uint32_t address) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(address)
               : "memory");
  return pair;
}

// ld.shared.v4.u32 d, [a];
// PTX ISA 1.0, sm_10
/// Loads 16 bytes from a shared address, a multiple of 16.
__device__ __forceinline__ uint4 load_shared_v4(uint32_t address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

// st.shared.v4.u32 [a], b;
// PTX ISA 1.0, sm_10
/// Stores 16 bytes to a shared address, a multiple of 16.
__device__ __forceinline__ void store_shared_v4(uint32_t address, const uint4& value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

}  // namespace bw::ptx
