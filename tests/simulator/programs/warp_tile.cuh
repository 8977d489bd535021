#pragma once
/// \file
/// A warp's multiplications with mma.sync, as production kernels write them: matrices of 16-bit
/// elements in shared memory, rows padded, fragments through ldmatrix.

#include <cuda_bf16.h>

#include <cstdint>

namespace bw::programs {

/// Padding elements at the end of a row, so that eight rows are in different banks.
constexpr int kPadding = 8;

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// A fragment of A: 16 rows from `tile`, 16 columns.
__device__ inline void load_a(uint32_t (&a)[4], const __nv_bfloat16* tile, int row_stride) {
  const unsigned lane = threadIdx.x % 32;
  const __nv_bfloat16* row = tile + (lane % 16) * row_stride + lane / 16 * 8;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared_address(row)));
}

/// A fragment of B, 16 x 8, whose columns are the rows of `tile` (8 rows of 16 elements).
__device__ inline void load_b(uint32_t (&b)[2], const __nv_bfloat16* tile, int row_stride) {
  const unsigned lane = threadIdx.x % 16;
  const __nv_bfloat16* row = tile + (lane % 8) * row_stride + lane / 8 * 8;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(shared_address(row)));
}

/// The same where the rows of `tile` are those of B (16 rows of 8 elements).
__device__ inline void load_b_transposed(uint32_t (&b)[2], const __nv_bfloat16* tile,
                                         int row_stride) {
  const __nv_bfloat16* row = tile + (threadIdx.x % 16) * row_stride;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(shared_address(row)));
}

/// d += a b. A thread has columns 2 (lane % 4) and the next of rows lane / 4 and lane / 4 + 8.
__device__ inline void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// 16 bytes to shared memory by cp.async; zeros where `valid` is false.
__device__ inline void copy_chunk(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
}

}  // namespace bw::programs
