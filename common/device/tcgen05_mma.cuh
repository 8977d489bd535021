#pragma once
/// \file
/// The tensor core's matrix multiply (PTX ISA, "tcgen05.mma").

#include <cstdint>

namespace bw::ptx {

// tcgen05.mma.cta_group.kind [d-tmem], a-desc, b-desc, idesc, enable-input-d;   kind = .f8f6f4
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// D = A·B (+ D when `accumulate`): FP8 operands from shared memory, 32 elements along K.
/// Issued by one thread (in cta_group::2, of the leader CTA); asynchronous.
template <int cta_group>
__device__ __forceinline__ void tcgen05_mma_f8f6f4(uint32_t d_tmem, uint64_t a_descriptor,
                                                   uint64_t b_descriptor,
                                                   uint32_t instruction_descriptor,
                                                   bool accumulate) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  const uint32_t enable_input_d = accumulate ? 1 : 0;
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.b32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::%5.kind::f8f6f4 [%0], %1, %2, %3, accumulate;\n\t"
      "}" ::"r"(d_tmem),
      "l"(a_descriptor), "l"(b_descriptor), "r"(instruction_descriptor), "r"(enable_input_d),
      "n"(cta_group)
      : "memory");
}

}  // namespace bw::ptx
