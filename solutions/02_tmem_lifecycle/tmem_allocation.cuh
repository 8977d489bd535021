#pragma once
/// \file
/// Ownership of tensor memory columns (contract, chapter 2).

#include <cstdint>

#include "common/device/shared_address.cuh"
#include "common/device/tcgen05_alloc.cuh"

namespace bw {

/// `MaxCols` columns of tensor memory, named by their first address. A plain value: lifetime is
/// explicit, since the allocating warp frees what other warps still read (TmemDeallocBarrier).
///
/// With cta_group 2, the MMA warps of both CTAs of the pair allocate and deallocate.
template <int CtaGroup, int MaxCols = 512>
struct TmemAllocation {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");
  static_assert(MaxCols >= 32 && MaxCols <= 512 && (MaxCols & (MaxCols - 1)) == 0,
                "TMEM is allocated in powers of two from 32 to 512 columns");

  /// TMEM address of the first column.
  uint32_t addr;

  /// Whole MMA warp: allocates and leaves the address in the shared word `smem_slot`. Others
  /// read it by `from_shared` after a barrier with this warp.
  static __device__ __forceinline__ TmemAllocation allocate(uint32_t* smem_slot) {
    ptx::tcgen05_alloc<CtaGroup>(ptx::shared_address(smem_slot), MaxCols);
    __syncwarp();
    return from_shared(smem_slot);
  }

  /// Any thread, after a barrier with the allocating warp: reads the address.
  static __device__ __forceinline__ TmemAllocation from_shared(const uint32_t* smem_slot) {
    return TmemAllocation{*smem_slot};
  }

  /// Whole MMA warp: lets the next CTA of this SM allocate; this CTA may not any more.
  __device__ __forceinline__ void release_lock() const {
    ptx::tcgen05_relinquish_alloc_permit<CtaGroup>();
  }

  /// Whole MMA warp, when nobody uses the columns any more.
  __device__ __forceinline__ void deallocate() const {
    ptx::tcgen05_dealloc<CtaGroup>(addr, MaxCols);
  }
};

}  // namespace bw
