#pragma once
/// \file
/// The MMAs over one row of 128 bytes of operands in the 128-byte swizzle.

#include <cstdint>

#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"

namespace bw {

/// One lane: D = A · Bᵀ, four MMAs along K; the first one overwrites D. Asynchronous: commit after
/// it. `cta_group` 2: one lane of the leader, for the rows of both CTAs.
template <int cta_group>
__device__ __forceinline__ void multiply_swizzled(uint32_t d, const uint8_t* a, const uint8_t* b) {
  constexpr uint32_t kInstruction =
      make_e4m3_instruction_descriptor<kLabRows * cta_group, kLabColumns, cta_group>();
  const uint64_t a_descriptor = make_k_major_descriptor(ptx::shared_address(a), Swizzle::k128B);
  const uint64_t b_descriptor = make_k_major_descriptor(ptx::shared_address(b), Swizzle::k128B);
#pragma unroll
  for (uint32_t byte = 0; byte < kLabK; byte += kMmaBytes) {
    ptx::tcgen05_mma_f8f6f4<cta_group>(d, advance_descriptor(a_descriptor, byte),
                                       advance_descriptor(b_descriptor, byte), kInstruction,
                                       /*accumulate=*/byte > 0);
  }
}

}  // namespace bw
