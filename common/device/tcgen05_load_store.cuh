#pragma once
/// \file
/// Copies between tensor memory and registers, as raw 32-bit words or as fp32 (PTX ISA,
/// "tcgen05.ld", "tcgen05.st", "tcgen05.wait"). Executed by a whole, converged warp; asynchronous:
/// the registers of a load are undefined until `tcgen05_wait_ld` has been given them, and a store
/// has not been done before `tcgen05_wait_st`. The number of registers names the repetition: a
/// 32x32b.xN copy moves N registers per thread, 16x64b.xN N, 16x128b.xN 2N, 16x256b.xN 4N.
///
/// Addresses are TMEM addresses whose lane is the first of the warp's quarter, (warp % 4) · 32
/// (16-lane shapes: or 16 further).

#include <cstdint>

#include "common/device/register_lists.cuh"

namespace bw::ptx {

// tcgen05.ld.sync.aligned.shape.num.b32 r, [taddr];
// tcgen05.st.sync.aligned.shape.num.b32 [taddr], r;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Load and store of one shape and repetition, for one type of register.
#define BW_TCGEN05_COPY_OF(type, constraint, shape, repetitions, registers)                      \
  __device__ __forceinline__ void tcgen05_ld_##shape(type(&r)[registers], uint32_t tmem) {       \
    asm volatile("tcgen05.ld.sync.aligned." #shape ".x" #repetitions                             \
                 ".b32 {" BW_REGISTER_NAMES_##registers "}, [%" #registers "];"                  \
                 : BW_REGISTER_OPERANDS_##registers("=" constraint, r, 0)                        \
                 : "r"(tmem));                                                                   \
  }                                                                                              \
  __device__ __forceinline__ void tcgen05_st_##shape(uint32_t tmem, const type(&r)[registers]) { \
    asm volatile("tcgen05.st.sync.aligned." #shape ".x" #repetitions ".b32 [%" #registers        \
                 "], {" BW_REGISTER_NAMES_##registers                                            \
                 "};" ::BW_REGISTER_OPERANDS_##registers(constraint, r, 0),                      \
                 "r"(tmem)                                                                       \
                 : "memory");                                                                    \
  }
/// The same for 32-bit words and for floats.
#define BW_TCGEN05_COPY(shape, repetitions, registers)             \
  BW_TCGEN05_COPY_OF(uint32_t, "r", shape, repetitions, registers) \
  BW_TCGEN05_COPY_OF(float, "f", shape, repetitions, registers)

BW_TCGEN05_COPY(32x32b, 1, 1)
BW_TCGEN05_COPY(32x32b, 2, 2)
BW_TCGEN05_COPY(32x32b, 4, 4)
BW_TCGEN05_COPY(32x32b, 8, 8)
BW_TCGEN05_COPY(32x32b, 16, 16)
BW_TCGEN05_COPY(32x32b, 32, 32)
BW_TCGEN05_COPY(32x32b, 64, 64)
BW_TCGEN05_COPY(32x32b, 128, 128)

BW_TCGEN05_COPY(16x64b, 1, 1)
BW_TCGEN05_COPY(16x64b, 2, 2)
BW_TCGEN05_COPY(16x64b, 4, 4)
BW_TCGEN05_COPY(16x64b, 8, 8)
BW_TCGEN05_COPY(16x64b, 16, 16)
BW_TCGEN05_COPY(16x64b, 32, 32)
BW_TCGEN05_COPY(16x64b, 64, 64)
BW_TCGEN05_COPY(16x64b, 128, 128)

BW_TCGEN05_COPY(16x128b, 1, 2)
BW_TCGEN05_COPY(16x128b, 2, 4)
BW_TCGEN05_COPY(16x128b, 4, 8)
BW_TCGEN05_COPY(16x128b, 8, 16)
BW_TCGEN05_COPY(16x128b, 16, 32)
BW_TCGEN05_COPY(16x128b, 32, 64)
BW_TCGEN05_COPY(16x128b, 64, 128)

BW_TCGEN05_COPY(16x256b, 1, 4)
BW_TCGEN05_COPY(16x256b, 2, 8)
BW_TCGEN05_COPY(16x256b, 4, 16)
BW_TCGEN05_COPY(16x256b, 8, 32)
BW_TCGEN05_COPY(16x256b, 16, 64)
BW_TCGEN05_COPY(16x256b, 32, 128)

#undef BW_TCGEN05_COPY
#undef BW_TCGEN05_COPY_OF

// tcgen05.ld.sync.aligned.16x32bx2.num.b32 r, [taddr], immHalfSplitoff;
// tcgen05.st.sync.aligned.16x32bx2.num.b32 [taddr], immHalfSplitoff, r;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// 16 lanes, two halves: threads 0 … 15 move their lane's columns from the address on, threads
/// 16 … 31 those of lane t - 16, `split_columns` further. Register i is column i.
#define BW_TCGEN05_SPLIT_COPY_OF(type, constraint, registers, split_operand)                      \
  template <int split_columns>                                                                    \
  __device__ __forceinline__ void tcgen05_ld_16x32bx2(type(&r)[registers], uint32_t tmem) {       \
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x" #registers                                  \
                 ".b32 {" BW_REGISTER_NAMES_##registers "}, [%" #registers "], %" #split_operand  \
                                                        ";"                                       \
                 : BW_REGISTER_OPERANDS_##registers("=" constraint, r, 0)                         \
                 : "r"(tmem), "n"(split_columns));                                                \
  }                                                                                               \
  template <int split_columns>                                                                    \
  __device__ __forceinline__ void tcgen05_st_16x32bx2(uint32_t tmem, const type(&r)[registers]) { \
    asm volatile("tcgen05.st.sync.aligned.16x32bx2.x" #registers ".b32 [%" #registers             \
                 "], %" #split_operand ", {" BW_REGISTER_NAMES_##registers                        \
                 "};" ::BW_REGISTER_OPERANDS_##registers(constraint, r, 0),                       \
                 "r"(tmem), "n"(split_columns)                                                    \
                 : "memory");                                                                     \
  }
/// The same for 32-bit words and for floats.
#define BW_TCGEN05_SPLIT_COPY(registers, split_operand)             \
  BW_TCGEN05_SPLIT_COPY_OF(uint32_t, "r", registers, split_operand) \
  BW_TCGEN05_SPLIT_COPY_OF(float, "f", registers, split_operand)

BW_TCGEN05_SPLIT_COPY(1, 2)
BW_TCGEN05_SPLIT_COPY(2, 3)
BW_TCGEN05_SPLIT_COPY(4, 5)
BW_TCGEN05_SPLIT_COPY(8, 9)
BW_TCGEN05_SPLIT_COPY(16, 17)
BW_TCGEN05_SPLIT_COPY(32, 33)
BW_TCGEN05_SPLIT_COPY(64, 65)
BW_TCGEN05_SPLIT_COPY(128, 129)

#undef BW_TCGEN05_SPLIT_COPY
#undef BW_TCGEN05_SPLIT_COPY_OF

// tcgen05.wait::ld.sync.aligned;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Waits for all earlier tcgen05.ld of this thread. It takes the registers of the loads it
/// waits for as operands, so that the compiler can't move their uses before the wait.
template <int registers>
__device__ __forceinline__ void tcgen05_wait_ld(uint32_t (&r)[registers]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < registers; ++i) asm volatile("" : "+r"(r[i]));
}
/// The same for floats.
template <int registers>
__device__ __forceinline__ void tcgen05_wait_ld(float (&r)[registers]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < registers; ++i) asm volatile("" : "+f"(r[i]));
}

/// As above for consumers that combine every loaded value with `factor` (a scale): it is `factor`
/// that the compiler sees come out of the wait, which orders all those uses after it without a
/// register copy per value.
__device__ __forceinline__ void tcgen05_wait_ld_ordering(float& factor) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" : "+f"(factor)::"memory");
}

// tcgen05.wait::st.sync.aligned;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Waits for all earlier tcgen05.st of this thread.
__device__ __forceinline__ void tcgen05_wait_st() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

}  // namespace bw::ptx
