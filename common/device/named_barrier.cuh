#pragma once
/// \file
/// Named barriers of a CTA (PTX ISA, "bar / barrier"). Ids 0 … 15; 0 is `__syncthreads`.

namespace bw::ptx {

// bar.sync a, b;
// PTX ISA 2.0, sm_20
/// Waits until `threads` threads (a multiple of 32) have arrived on barrier `id`.
template <int id, int threads>
__device__ __forceinline__ void bar_sync() {
  static_assert(id > 0 && id < 16, "named barriers are 1 … 15; 0 belongs to __syncthreads");
  static_assert(threads % 32 == 0, "a named barrier counts whole warps");
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

// bar.arrive a, b;
// PTX ISA 2.0, sm_20
/// Arrives on barrier `id` without waiting.
template <int id, int threads>
__device__ __forceinline__ void bar_arrive() {
  static_assert(id > 0 && id < 16, "named barriers are 1 … 15; 0 belongs to __syncthreads");
  static_assert(threads % 32 == 0, "a named barrier counts whole warps");
  asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

}  // namespace bw::ptx
