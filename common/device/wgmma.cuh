#pragma once
/// \file
/// wgmma: Hopper's asynchronous matrix multiply of a warpgroup (PTX ISA, "Asynchronous Warpgroup
/// Level Matrix Multiply-Accumulate Instructions"; sm_90a only).
///
/// All 128 threads of a warpgroup execute each of these together. Between an MMA and the wait for
/// its group no thread may touch its registers; `wgmma_hold` keeps the compiler from doing so.
///
/// Accumulator fragment of m64nN (fp32), thread t of the warpgroup, warp w = t / 32, lane l:
/// register 4j + 2h + i is row 16w + l / 4 + 8h, column 8j + 2 (l % 4) + i. A fragment of m64k32
/// (e4m3): register 2c + h holds row 16w + l / 4 + 8h, bytes 16c + 4 (l % 4) and the three after.

#include <cstdint>

#include "common/device/register_lists.cuh"

namespace bw::ptx {

// wgmma.fence.sync.aligned;
// PTX ISA 8.0, sm_90a
/// Orders earlier accesses to the registers of accumulators and A fragments before later MMAs. Not
/// needed between MMAs that accumulate into the same registers.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// wgmma.commit_group.sync.aligned;
// PTX ISA 8.0, sm_90a
/// Closes the group of all MMAs that the warpgroup has issued since the last one.
__device__ __forceinline__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// wgmma.wait_group.sync.aligned N;
// PTX ISA 8.0, sm_90a
/// Waits until at most `pending` groups are incomplete.
template <int pending>
__device__ __forceinline__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Emits no instruction. What is done with `registers` before stays before, what is done after
/// stays after: the compiler can't see that an MMA in flight still writes or reads them.
template <int count>
__device__ __forceinline__ void wgmma_hold(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
/// The same for 32-bit words.
template <int count>
__device__ __forceinline__ void wgmma_hold(uint32_t (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// wgmma.mma_async.sync.aligned.m64nNk32.f32.e4m3.e4m3 d, a-desc, b-desc, scale-d, imm-scale-a,
//     imm-scale-b;
// wgmma.mma_async.sync.aligned.m64nNk32.f32.e4m3.e4m3 d, a, b-desc, scale-d, imm-scale-a,
//     imm-scale-b;
// PTX ISA 8.0, sm_90a
/// d = a · bᵀ, plus d if `accumulate`, for 64 rows of A and N of B, both K-major. `a` is a
/// shared-memory descriptor or the A fragment in registers. N is twice the length of `d`.
/// (Operands are numbered: nvcc has no names for them. i0 … i5 count on from the accumulator's.)
#define BW_WGMMA_E4M3(n, registers, i0, i1, i2, i3, i4, i5)                                        \
  __device__ __forceinline__ void wgmma_e4m3(float(&d)[registers], uint64_t a, uint64_t b,         \
                                             bool accumulate) {                                    \
    asm volatile(                                                                                  \
        "{\n\t"                                                                                    \
        ".reg .pred accumulate;\n\t"                                                               \
        "setp.ne.b32 accumulate, %" #i2                                                            \
        ", 0;\n\t"                                                                                 \
        "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" BW_REGISTER_NAMES_##registers \
        "}, %" #i0 ", %" #i1                                                                       \
        ", accumulate, 1, 1;\n\t"                                                                  \
        "}"                                                                                        \
        : BW_REGISTER_OPERANDS_##registers("+f", d, 0)                                             \
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                                      \
  }                                                                                                \
  __device__ __forceinline__ void wgmma_e4m3(float(&d)[registers], const uint32_t(&a)[4],          \
                                             uint64_t b, bool accumulate) {                        \
    asm volatile(                                                                                  \
        "{\n\t"                                                                                    \
        ".reg .pred accumulate;\n\t"                                                               \
        "setp.ne.b32 accumulate, %" #i5                                                            \
        ", 0;\n\t"                                                                                 \
        "wgmma.mma_async.sync.aligned.m64n" #n "k32.f32.e4m3.e4m3 {" BW_REGISTER_NAMES_##registers \
        "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4                                       \
        ", accumulate, 1, 1;\n\t"                                                                  \
        "}"                                                                                        \
        : BW_REGISTER_OPERANDS_##registers("+f", d, 0)                                             \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));  \
  }

BW_WGMMA_E4M3(8, 4, 4, 5, 6, 7, 8, 9)
BW_WGMMA_E4M3(16, 8, 8, 9, 10, 11, 12, 13)
BW_WGMMA_E4M3(24, 12, 12, 13, 14, 15, 16, 17)
BW_WGMMA_E4M3(32, 16, 16, 17, 18, 19, 20, 21)
BW_WGMMA_E4M3(48, 24, 24, 25, 26, 27, 28, 29)
BW_WGMMA_E4M3(64, 32, 32, 33, 34, 35, 36, 37)
BW_WGMMA_E4M3(96, 48, 48, 49, 50, 51, 52, 53)
BW_WGMMA_E4M3(128, 64, 64, 65, 66, 67, 68, 69)
BW_WGMMA_E4M3(144, 72, 72, 73, 74, 75, 76, 77)
BW_WGMMA_E4M3(192, 96, 96, 97, 98, 99, 100, 101)
BW_WGMMA_E4M3(256, 128, 128, 129, 130, 131, 132, 133)

#undef BW_WGMMA_E4M3

}  // namespace bw::ptx
