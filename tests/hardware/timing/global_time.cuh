#pragma once
/// \file
/// The time that all SMs share, in nanoseconds.

#include <cstdint>

namespace bw::timing {

/// The time; nothing is moved across it. On an H100 it goes on by 32.
__device__ __forceinline__ uint64_t nanoseconds() {
  uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

}  // namespace bw::timing
