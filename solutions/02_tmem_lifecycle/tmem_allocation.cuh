#pragma once
/// \file
/// Ownership of tensor memory columns (contract, chapter 2).

#include <cstddef>
#include <cstdint>

#include "common/device/shared_address.cuh"
#include "common/device/tcgen05_alloc.cuh"

namespace bw {

/// Dynamic shared memory of a CTA that allocates all 512 columns: at least what keeps a second CTA
/// off its SM. The second CTA's allocation would wait until the first ends, and the CTAs of two
/// clusters could wait for each other forever.
constexpr uint32_t shared_bytes_for_all_columns(size_t bytes) {
  constexpr size_t kSharedBytesPerSm = 228 * 1024;  // compute capability 10.0
  constexpr size_t kSystemBytesPerCta = 1024;
  constexpr size_t kUnit = 128;
  constexpr size_t kLeast = kSharedBytesPerSm / 2 - kSystemBytesPerCta + kUnit;
  return static_cast<uint32_t>(bytes > kLeast ? bytes : kLeast);
}

/// `MaxCols` columns of tensor memory, named by their first address. A plain value: lifetime is
/// explicit, since the allocating warp frees what other warps still read (TmemDeallocBarrier).
///
/// With cta_group 2, the MMA warps of both CTAs of the pair allocate and deallocate.
///
/// The instructions are .aligned: after a branch that one lane took the warp comes together first.
template <int CtaGroup, int MaxCols = 512>
struct TmemAllocation {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");
  static_assert(MaxCols >= 32 && MaxCols <= 512 && (MaxCols & (MaxCols - 1)) == 0,
                "TMEM is allocated in powers of two from 32 to 512 columns");
  static constexpr int kColumns = MaxCols;  ///< that are allocated

  /// TMEM address of the first column.
  uint32_t addr;

  /// Whole MMA warp: allocates and leaves the address in the shared word `smem_slot`. Others
  /// read it by `from_shared` after a barrier with this warp.
  static __device__ __forceinline__ TmemAllocation allocate(uint32_t* smem_slot) {
    __syncwarp();
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
    __syncwarp();
    ptx::tcgen05_relinquish_alloc_permit<CtaGroup>();
  }

  /// Whole MMA warp, when the columns are no longer in use.
  __device__ __forceinline__ void deallocate() const {
    __syncwarp();
    ptx::tcgen05_dealloc<CtaGroup>(addr, MaxCols);
  }
};

}  // namespace bw
