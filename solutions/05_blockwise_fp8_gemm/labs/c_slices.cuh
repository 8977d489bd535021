#pragma once
/// \file
/// What the labs on D = beta · C share: slices of C, the warp that loads them, and the arithmetic.

#include <cuda.h>

#include <cstdint>

#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/05_blockwise_fp8_gemm/epi_load_pipeline.cuh"

namespace bw::lab {

/// What one TMA copy moves: 128 rows of 64 bf16, 128 bytes each, 128B-swizzled.
struct CSlice {
  static constexpr int kRows = 128;    ///< rows of a piece
  static constexpr int kColumns = 64;  ///< columns of a piece
  /// Bytes of a row of a slice.
  static constexpr uint32_t kRowBytes = kColumns * sizeof(uint16_t);
  static constexpr uint32_t kBytes = kRows * kRowBytes;  ///< bytes of a slice
  static constexpr uint32_t kChunkBytes = 16;  ///< eight bf16: what a swizzle moves as a whole
  /// Columns of a chunk of 16 bytes.
  static constexpr int kChunkColumns = kChunkBytes / sizeof(uint16_t);
  static constexpr int kChunks = kRowBytes / kChunkBytes;  ///< chunks of a row

  /// Offset of chunk `chunk` of row `row` in a slice.
  static __device__ __forceinline__ uint32_t offset(uint32_t row, int chunk) {
    return swizzled_offset(Swizzle::k128B, row * kRowBytes + chunk * kChunkBytes);
  }
};

/// Warps 0 to 3 are the epilogue, one row of a slice per thread; warp 4 loads.
struct CRoles {
  static constexpr uint32_t kEpilogueThreads = CSlice::kRows;  ///< threads of all epilogue warps
  static constexpr uint32_t kThreads = kEpilogueThreads + ptx::kWarpThreads;  ///< threads of a CTA
};

/// Kernel arguments. CTA i computes rows 128 i … 128 i + 127 of D, slice after slice.
struct CArguments {
  CUtensorMap c;     ///< bf16 [M, N], box 64 × 128, swizzle 128B
  CUtensorMap d;     ///< the same of D
  uint16_t* d_data;  ///< D in global memory
  uint32_t rows;     ///< of C
  uint32_t columns;  ///< of C
  float beta;        ///< factor of the residual C; 0: no C

  /// First row of the CTA.
  __device__ __forceinline__ int32_t first_row() const { return blockIdx.x * CSlice::kRows; }
  /// Slices of a row of C.
  __device__ __forceinline__ int slices() const {
    return static_cast<int>((columns + CSlice::kColumns - 1) / CSlice::kColumns);
  }
};

/// Epilogue-load warp, its whole life: asks for one slice of C after the other, as soon as the ring
/// has a free stage.
template <class Ring, class Slices>
__device__ __forceinline__ void load_slices(Ring& ring, Slices& c_slices, const CArguments& args) {
  for (int slice = 0; slice < args.slices(); ++slice) {
    auto stage = ring.produce();
    if (ptx::elect_one()) {
      stage.mbar()->arrive_and_expect_bytes(CSlice::kBytes);
      ptx::tma_load_2d(ptx::shared_address(c_slices[stage.index()]), &args.c,
                       stage.mbar()->address(), slice * CSlice::kColumns, args.first_row());
    }
    __syncwarp();
  }
}

/// Chunk `chunk` of the calling thread's row of a slice of C, times beta, in bf16.
__device__ __forceinline__ uint4 scaled_chunk(const uint8_t* c_slice, int chunk, float beta) {
  const uint4 c = *reinterpret_cast<const uint4*>(c_slice + CSlice::offset(threadIdx.x, chunk));
  const auto scaled = [beta](uint32_t pair) {
    return ptx::pack_bf16x2(beta * ptx::unpack_bf16_low(pair), beta * ptx::unpack_bf16_high(pair));
  };
  return make_uint4(scaled(c.x), scaled(c.y), scaled(c.z), scaled(c.w));
}

}  // namespace bw::lab
