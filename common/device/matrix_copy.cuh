#pragma once
/// \file
/// stmatrix: 8 × 8 matrices of 16-bit elements from a warp's registers to shared memory (PTX ISA,
/// "stmatrix"). Register i of lane l holds elements 2 (l % 4) and the next of row l / 4 of matrix
/// i; lane l gives the address of row l % 8 of matrix l / 8, 16 bytes long and aligned. All 32
/// lanes.

#include <cstdint>

namespace bw::ptx {

// stmatrix.sync.aligned.m8n8.x4.shared.b16 [p], r;
__device__ __forceinline__ void stmatrix_x4(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2,
                                            uint32_t r3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(r0), "r"(r1), "r"(r2), "r"(r3)
      : "memory");
}

}  // namespace bw::ptx
