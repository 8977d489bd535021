#pragma once
/// \file
/// A matrix product by mma.sync, as kernels had it before tensor cores read shared memory
/// themselves: each lane copies (cp.async), and each warp loads its operands (ldmatrix).

#include <cuda_bf16.h>
#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "common/device/matrix_copy.cuh"
#include "common/device/shared_address.cuh"

namespace bw::timing {

/// Four warps, each of which has a quarter of a CTA's tile of C.
struct WarpMma {
  static constexpr uint32_t kSide = 128;  ///< of a tile of C
  static constexpr uint32_t kWarpSide = 64;
  static constexpr uint32_t kThreads = 128;
  static constexpr uint32_t kRowBytes = 128;  ///< of K in a stage
  static constexpr uint32_t kStages = 3;
  static constexpr uint32_t kOperandBytes = kSide * kRowBytes;
  static constexpr uint32_t kStageBytes = 2 * kOperandBytes;
  static constexpr uint32_t kSharedBytes = kStages * kStageBytes;
  static constexpr uint32_t kMmaRows = 16, kMmaColumns = 8;
  static constexpr uint32_t kMmaBytes = 32;    ///< of K that one MMA multiplies
  static constexpr uint32_t kPieceBytes = 16;  ///< that a lane copies or gives ldmatrix

  /// Where a piece of a row is in its operand: eight rows that are read together have each piece in
  /// other banks.
  __device__ static uint32_t offset(uint32_t row, uint32_t piece) {
    return row * kRowBytes + (piece ^ row % 8) * kPieceBytes;
  }
};

/// D += A · B, 16 x 8 elements of D by 16 of K.
__device__ inline void mma_16x8x16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Copies an operand's part of a stage: kRowBytes of each row, from `from` on.
__device__ inline void copy_operand(uint8_t* to, const uint8_t* from, size_t pitch) {
  constexpr uint32_t kPieces = WarpMma::kRowBytes / WarpMma::kPieceBytes;
#pragma unroll
  for (uint32_t i = threadIdx.x; i < WarpMma::kSide * kPieces; i += WarpMma::kThreads) {
    const uint32_t row = i / kPieces, piece = i % kPieces;
    __pipeline_memcpy_async(to + WarpMma::offset(row, piece),
                            from + row * pitch + piece * WarpMma::kPieceBytes,
                            WarpMma::kPieceBytes);
  }
}

/// A warp's part of the products of a stage.
__device__ inline void multiply_stage(float (&d)[4][8][4], uint32_t a_tile, uint32_t b_tile) {
  using M = WarpMma;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t a_row = warp / 2 * M::kWarpSide + lane % 16;
  const uint32_t b_row = warp % 2 * M::kWarpSide + lane / 16 * 8 + lane % 8;
#pragma unroll
  for (uint32_t k = 0; k < M::kRowBytes / M::kMmaBytes; ++k) {
    uint32_t a[4][4], b[4][4];
#pragma unroll
    for (uint32_t m = 0; m < 4; ++m)
      ptx::ldmatrix_x4(a[m], a_tile + M::offset(a_row + m * M::kMmaRows, 2 * k + lane / 16));
#pragma unroll
    for (uint32_t n = 0; n < 4; ++n)
      ptx::ldmatrix_x4(b[n],
                       b_tile + M::offset(b_row + n * 2 * M::kMmaColumns, 2 * k + lane / 8 % 2));
#pragma unroll
    for (uint32_t m = 0; m < 4; ++m) {
#pragma unroll
      for (uint32_t n = 0; n < 8; ++n)
        mma_16x8x16(d[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
    }
  }
}

/// C = A · Bᵀ of bf16, a tile a CTA. `pitch`: bytes of a row of A and B; `blocks` of kRowBytes.
__global__ void __launch_bounds__(WarpMma::kThreads)
    multiply_by_warps(const uint8_t* a, const uint8_t* b, __nv_bfloat16* c, uint32_t columns,
                      uint32_t blocks) {
  using M = WarpMma;
  extern __shared__ __align__(1024) uint8_t stages[];
  const size_t pitch = size_t{blocks} * M::kRowBytes;
  const uint32_t row = blockIdx.x / (columns / M::kSide) * M::kSide;
  const uint32_t column = blockIdx.x % (columns / M::kSide) * M::kSide;
  a += row * pitch;
  b += column * pitch;
  const auto load = [&](uint32_t block) {
    if (block < blocks) {
      uint8_t* const stage = stages + block % M::kStages * M::kStageBytes;
      copy_operand(stage, a + block * M::kRowBytes, pitch);
      copy_operand(stage + M::kOperandBytes, b + block * M::kRowBytes, pitch);
    }
    __pipeline_commit();
  };
  float d[4][8][4] = {};
  for (uint32_t block = 0; block + 1 < M::kStages; ++block) load(block);
  for (uint32_t block = 0; block < blocks; ++block) {
    __syncthreads();  // the stage of the block before has been read
    load(block + M::kStages - 1);
    __pipeline_wait_prior(M::kStages - 1);
    __syncthreads();
    const uint32_t stage = ptx::shared_address(stages) + block % M::kStages * M::kStageBytes;
    multiply_stage(d, stage, stage + M::kOperandBytes);
  }
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __nv_bfloat16* const to = c + size_t{row + warp / 2 * M::kWarpSide + lane / 4} * columns +
                            column + warp % 2 * M::kWarpSide + lane % 4 * 2;
#pragma unroll
  for (uint32_t m = 0; m < 4; ++m) {
#pragma unroll
    for (uint32_t n = 0; n < 8; ++n) {
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half)
        *reinterpret_cast<__nv_bfloat162*>(to + size_t{m * M::kMmaRows + half * 8} * columns +
                                           n * M::kMmaColumns) =
            __floats2bfloat162_rn(d[m][n][2 * half], d[m][n][2 * half + 1]);
    }
  }
}

}  // namespace bw::timing
