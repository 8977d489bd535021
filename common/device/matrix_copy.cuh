#pragma once
/// \file
/// stmatrix and ldmatrix: 8 × 8 matrices of 16-bit elements from a warp's registers to shared
/// memory and back (PTX ISA, "stmatrix", "ldmatrix"). Register i of lane l holds elements 2 (l % 4)
/// and the next of row l / 4 of matrix i; lane l gives the address of row l % 8 of matrix l / 8, 16
/// bytes long and aligned. All 32 lanes.

#include <cstdint>

namespace bw::ptx {

// stmatrix.sync.aligned.m8n8.x4.shared.b16 [p], r;
// PTX ISA 7.8, sm_90
/// Stores four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l
/// / 8.
__device__ __forceinline__ void stmatrix_x4(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2,
                                            uint32_t r3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(r0), "r"(r1), "r"(r2), "r"(r3)
      : "memory");
}

// stmatrix.sync.aligned.m8n8{.x1, .x2, .x4}.trans.shared.b16 [p], r;
// PTX ISA 7.8, sm_90
/// The matrices transposed: what register i holds of row l / 4 becomes column l / 4. `p` matters in
/// the first 8, 16 or 32 lanes.
__device__ __forceinline__ void stmatrix_transposed(uint32_t address, const uint32_t (&r)[1]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 [%0], {%1};" ::"r"(address),
               "r"(r[0])
               : "memory");
}
/// Stores 8 x 8 matrices of 16-bit elements, transposed; lanes give the rows' addresses.
__device__ __forceinline__ void stmatrix_transposed(uint32_t address, const uint32_t (&r)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(r[0]), "r"(r[1])
               : "memory");
}
/// Stores 8 x 8 matrices of 16-bit elements, transposed; lanes give the rows' addresses.
__device__ __forceinline__ void stmatrix_transposed(uint32_t address, const uint32_t (&r)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
}

// ldmatrix.sync.aligned.m8n8{.x1, .x2, .x4}.trans.shared.b16 r, [p];
// PTX ISA 6.5, sm_75
/// What stmatrix_transposed has stored.
__device__ __forceinline__ void ldmatrix_transposed(uint32_t (&r)[1], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(address)
               : "memory");
}
/// Loads 8 x 8 matrices of 16-bit elements, transposed; lanes give the rows' addresses.
__device__ __forceinline__ void ldmatrix_transposed(uint32_t (&r)[2], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
}
/// Loads 8 x 8 matrices of 16-bit elements, transposed; lanes give the rows' addresses.
__device__ __forceinline__ void ldmatrix_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// ldmatrix.sync.aligned.m8n8.x4.shared.b16 r, [p];
// PTX ISA 7.8, sm_75
/// Loads four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l
/// / 8.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

}  // namespace bw::ptx
