#pragma once
/// \file
/// Allocation of tensor memory (PTX ISA, "tcgen05.alloc, dealloc, relinquish_alloc_permit").
/// All are executed by one whole, converged warp.

#include <cstdint>

namespace bw::ptx {

// tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], nCols;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Allocates `columns` (a power of two, 32 … 512) and writes the TMEM address to the shared word
/// at `destination`. Blocks until this many columns are free.
template <int cta_group>
__device__ __forceinline__ void tcgen05_alloc(uint32_t destination, uint32_t columns) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  asm volatile(
      "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(destination),
      "r"(columns), "n"(cta_group)
      : "memory");
}

// tcgen05.dealloc.cta_group.sync.aligned.b32 taddr, nCols;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Gives back what one `tcgen05_alloc` of the same size returned.
template <int cta_group>
__device__ __forceinline__ void tcgen05_dealloc(uint32_t tmem_address, uint32_t columns) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(tmem_address),
               "r"(columns), "n"(cta_group)
               : "memory");
}

// tcgen05.relinquish_alloc_permit.cta_group.sync.aligned;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// After this, the CTA may not allocate again; another CTA on the SM may.
template <int cta_group>
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit() {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(cta_group)
               : "memory");
}

}  // namespace bw::ptx
