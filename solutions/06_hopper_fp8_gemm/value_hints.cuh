#pragma once
/// \file
/// What the compiler can't know, or must not make use of, about a value.

#include <cstdint>

#include "common/device/elect.cuh"

namespace bw::hopper {

/// Tells the compiler that a value is the same in the whole warp, and keeps it from computing the
/// value again where it is used. All lanes.
__device__ __forceinline__ uint32_t uniform(uint32_t value) {
  return __shfl_sync(ptx::kFullWarpMask, value, 0);
}
/// The same for a float.
__device__ __forceinline__ float uniform(float value) {
  return __shfl_sync(ptx::kFullWarpMask, value, 0);
}

/// The same for a pointer.
template <class T>
__device__ __forceinline__ T* uniform(T* pointer) {
  const auto value = reinterpret_cast<uint64_t>(pointer);
  const uint64_t low = uniform(static_cast<uint32_t>(value));
  const uint64_t high = uniform(static_cast<uint32_t>(value >> 32));
  return reinterpret_cast<T*>(high << 32 | low);
}

/// Keeps the compiler from computing `value` again where it is used, and what follows from it ahead
/// of this point.
__device__ __forceinline__ void keep(uint32_t& value) { asm volatile("" : "+r"(value)); }
/// The same for a float.
__device__ __forceinline__ void keep(float& value) { asm volatile("" : "+f"(value)); }
/// The same for a pointer.
template <class T>
__device__ __forceinline__ void keep(T*& pointer) {
  asm volatile("" : "+l"(pointer));
}

}  // namespace bw::hopper
