#pragma once
/// \file
/// Copies from shared memory to tensor memory (PTX ISA, "tcgen05.cp").

#include <cstdint>

namespace bw::ptx {

// tcgen05.cp.cta_group.shape.multicast [taddr], s-desc;   shape = .32x128b, multicast = .warpx4
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Copies 32 rows of 16 bytes to four columns of lanes 0 … 31, and again to lanes 32 … 63, 64 … 95
/// and 96 … 127: an atom of scales. In cta_group::2 each CTA of the pair copies from its own shared
/// memory into its own tensor memory. Issued by one thread (in cta_group::2, of the leader CTA);
/// asynchronous: later MMAs of this thread come after it, everything else waits for a commit. It
/// reads through the async proxy, so what TMA has written needs no fence.
template <int cta_group>
__device__ __forceinline__ void tcgen05_cp_32x128b_warpx4(uint32_t tmem, uint64_t descriptor) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  asm volatile("tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;" ::"r"(tmem), "l"(descriptor),
               "n"(cta_group)
               : "memory");
}

}  // namespace bw::ptx
