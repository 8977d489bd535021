#pragma once
/// \file
/// The MMAs of one K block: 128 bytes of K, a 128B-swizzled row, are four MMAs of 32 bytes.

#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_mma.cuh"

namespace bw {

/// One lane of the MMA warp: D (+)= A · Bᵀ over one K block of e4m3. `a_tile`, `b_tile`: mma_m and
/// mma_n rows of 128 bytes in shared memory, 128B-swizzled, 1024-byte aligned. With `accumulate`
/// false, what D held before is overwritten. Asynchronous: commit afterwards.
template <int mma_m, int mma_n, int CtaGroup>
__device__ __forceinline__ void multiply_k_block(uint32_t d_tmem, const uint8_t* a_tile,
                                                 const uint8_t* b_tile, bool accumulate) {
  constexpr int kRowBytes = 128;
  constexpr int kMmaBytes = 32;  ///< K of one MMA
  constexpr uint32_t kInstruction = make_e4m3_instruction_descriptor<mma_m, mma_n, CtaGroup>();
  const uint64_t a = make_k_major_descriptor(ptx::shared_address(a_tile), Swizzle::k128B);
  const uint64_t b = make_k_major_descriptor(ptx::shared_address(b_tile), Swizzle::k128B);
  // >>> exercise 3.1 "Four MMAs make a K block"
#pragma unroll
  for (int byte = 0; byte < kRowBytes; byte += kMmaBytes) {
    ptx::tcgen05_mma_f8f6f4<CtaGroup>(d_tmem, advance_descriptor(a, byte),
                                      advance_descriptor(b, byte), kInstruction,
                                      accumulate || byte > 0);
  }
  // <<< exercise 3.1
}

}  // namespace bw
