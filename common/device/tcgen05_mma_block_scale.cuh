#pragma once
/// \file
/// The tensor core's matrix multiply with scales by blocks of K (PTX ISA, "tcgen05.mma",
/// "Block Scaling").
///
/// `.block32` and `.block16` (PTX ISA 8.8) name the block; `.scale_vec::1X`, `2X` and `4X` (8.6)
/// name the scales of a row that one MMA takes, and mean the same. The targets of the family,
/// sm_100f and sm_103f, have the former alone; sm_100a and sm_103a have both.

#include <cstdint>

#include "common/device/block_format.cuh"

namespace bw::ptx {

// tcgen05.mma.cta_group.kind.block_scale.block32
//     [d-tmem], a-desc, b-desc, idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d;
//     kind = .kind::mxf8f6f4; .block32 = .scale_vec::1X
// PTX ISA 8.8, sm_100a, sm_100f and sm_103a
/// D = (A·scales) (B·scales)ᵀ (+ D when `accumulate`): 8-bit operands from shared memory, 32
/// elements along K, one ue8m0 scale for each row. Issued by one thread (in cta_group::2, of the
/// leader CTA); asynchronous, and in order after this thread's earlier tcgen05.cp.
template <int cta_group>
__device__ __forceinline__ void tcgen05_mma_mxf8f6f4(uint32_t d_tmem, uint64_t a_descriptor,
                                                     uint64_t b_descriptor,
                                                     uint32_t instruction_descriptor,
                                                     uint32_t a_scales_tmem, uint32_t b_scales_tmem,
                                                     bool accumulate) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  const uint32_t enable_input_d = accumulate ? 1 : 0;
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.b32 accumulate, %6, 0;\n\t"
      "tcgen05.mma.cta_group::%7.kind::mxf8f6f4.block_scale.block32"
      " [%0], %1, %2, %3, [%4], [%5], accumulate;\n\t"
      "}" ::"r"(d_tmem),
      "l"(a_descriptor), "l"(b_descriptor), "r"(instruction_descriptor), "r"(a_scales_tmem),
      "r"(b_scales_tmem), "r"(enable_input_d), "n"(cta_group)
      : "memory");
}

// tcgen05.mma.cta_group.kind.block_scale.block32
//     [d-tmem], a-desc, b-desc, idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d;
//     kind = .kind::mxf4; .block32 = .scale_vec::2X
// PTX ISA 8.8, sm_100a, sm_100f and sm_103a
/// The same for e2m1, two to a byte: 64 elements along K, two ue8m0 scales for each row.
template <int cta_group>
__device__ __forceinline__ void tcgen05_mma_mxf4(uint32_t d_tmem, uint64_t a_descriptor,
                                                 uint64_t b_descriptor,
                                                 uint32_t instruction_descriptor,
                                                 uint32_t a_scales_tmem, uint32_t b_scales_tmem,
                                                 bool accumulate) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  const uint32_t enable_input_d = accumulate ? 1 : 0;
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.b32 accumulate, %6, 0;\n\t"
      "tcgen05.mma.cta_group::%7.kind::mxf4.block_scale.block32"
      " [%0], %1, %2, %3, [%4], [%5], accumulate;\n\t"
      "}" ::"r"(d_tmem),
      "l"(a_descriptor), "l"(b_descriptor), "r"(instruction_descriptor), "r"(a_scales_tmem),
      "r"(b_scales_tmem), "r"(enable_input_d), "n"(cta_group)
      : "memory");
}

// tcgen05.mma.cta_group.kind.block_scale.block16
//     [d-tmem], a-desc, b-desc, idesc, [scale-A-tmem], [scale-B-tmem], enable-input-d;
//     kind = .kind::mxf4nvf4; .block16 = .scale_vec::4X
// PTX ISA 8.8, sm_100a, sm_100f and sm_103a
/// The same for e2m1 with four ue4m3 scales for each row.
template <int cta_group>
__device__ __forceinline__ void tcgen05_mma_mxf4nvf4(uint32_t d_tmem, uint64_t a_descriptor,
                                                     uint64_t b_descriptor,
                                                     uint32_t instruction_descriptor,
                                                     uint32_t a_scales_tmem, uint32_t b_scales_tmem,
                                                     bool accumulate) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  const uint32_t enable_input_d = accumulate ? 1 : 0;
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.b32 accumulate, %6, 0;\n\t"
      "tcgen05.mma.cta_group::%7.kind::mxf4nvf4.block_scale.block16"
      " [%0], %1, %2, %3, [%4], [%5], accumulate;\n\t"
      "}" ::"r"(d_tmem),
      "l"(a_descriptor), "l"(b_descriptor), "r"(instruction_descriptor), "r"(a_scales_tmem),
      "r"(b_scales_tmem), "r"(enable_input_d), "n"(cta_group)
      : "memory");
}

/// The MMA of a format's kind.
template <BlockFormat format, int cta_group>
__device__ __forceinline__ void tcgen05_mma_block_scaled(uint32_t d_tmem, uint64_t a_descriptor,
                                                         uint64_t b_descriptor,
                                                         uint32_t instruction_descriptor,
                                                         uint32_t a_scales_tmem,
                                                         uint32_t b_scales_tmem, bool accumulate) {
  if constexpr (format == BlockFormat::kMxfp8) {
    tcgen05_mma_mxf8f6f4<cta_group>(d_tmem, a_descriptor, b_descriptor, instruction_descriptor,
                                    a_scales_tmem, b_scales_tmem, accumulate);
  } else if constexpr (format == BlockFormat::kMxfp4) {
    tcgen05_mma_mxf4<cta_group>(d_tmem, a_descriptor, b_descriptor, instruction_descriptor,
                                a_scales_tmem, b_scales_tmem, accumulate);
  } else {
    tcgen05_mma_mxf4nvf4<cta_group>(d_tmem, a_descriptor, b_descriptor, instruction_descriptor,
                                    a_scales_tmem, b_scales_tmem, accumulate);
  }
}

}  // namespace bw::ptx
