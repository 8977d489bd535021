#pragma once
/// \file
/// Reads of the SM's clock that the compiler does not move.

#include <cstdint>

#include "tests/hardware/timing/spans.hpp"

namespace bw::timing {

/// The cycle; nothing is moved across it.
__device__ __forceinline__ int64_t cycle() {
  int64_t value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}

/// Its low half, for differences.
__device__ __forceinline__ uint32_t short_clock() {
  uint32_t value;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(value)::"memory");
  return value;
}

/// Lane 0 of each warp: writes its warp's span.
__device__ __forceinline__ void write_span(Span* spans, int64_t begin, int64_t end) {
  const uint32_t warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0) spans[blockIdx.x * warps + threadIdx.x / 32] = {begin, end};
}

/// Keeps a value that nothing else uses; `sink` is null at run time, which the compiler must not
/// know.
__device__ __forceinline__ void keep(uint32_t value, uint32_t* sink) {
  if (sink != nullptr) *sink = value;
}

}  // namespace bw::timing
