#pragma once
/// \file
/// What the host hands to the Hopper kernel.

#include <cuda.h>

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/06_hopper_fp8_gemm/fast_raster.cuh"
#include "solutions/06_hopper_fp8_gemm/group_schedule.cuh"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {

/// Global memory of a kernel with `stream_k`, for one launch at a time.
struct StreamKWorkspace {
  /// [CTAs of the grid][tile_m · tile_n], in the kernel's own order; 16-byte aligned.
  float* partial_sums = nullptr;
  /// [CTAs][math warps]: 0 before a launch, and after it.
  uint32_t* flags = nullptr;
};

/// Additional arguments of a kernel with `stream_k`.
struct StreamKArguments {
  StreamKSchedule schedule;    ///< which pieces a cluster computes
  StreamKWorkspace workspace;  ///< where helpers leave partial sums
};

/// Where C and D are, for accesses that don't go through TMA.
struct DirectOutput {
  uint16_t* d = nullptr;        ///< bf16 [m, ldd]
  uint64_t ldd = 0;             ///< elements from row to row of D
  const uint16_t* c = nullptr;  ///< bf16 [m, ldc]; null without a residual
  uint64_t ldc = 0;             ///< elements from row to row of C
  uint32_t m = 0;               ///< rows of D
  uint32_t n = 0;               ///< columns of D
};

/// The tiles that reach beyond A's last row. TMA fills the part outside of a matrix with zeros,
/// but where many multiprocessors do so at once it takes longer than to load as many rows. So such
/// a tile is loaded by a map of its own, as far as there are rows. Its other rows are undefined:
/// the rows of D that they would give are never written.
struct LastRows {
  uint32_t first = 0xffff'ffff;  ///< the tiles from this row on are such
  uint32_t rows = 0;             ///< of their box: a multiple of 8
  /// First row of a tile that is past A altogether, as the last CTA of a cluster may have it.
  uint32_t behind = 0;
};

/// How a tile of A is loaded.
struct ATileLoad {
  const CUtensorMap* map;  ///< by which map
  uint32_t row;            ///< from which row on
  uint32_t rows;           ///< number of rows
};

/// Kernel arguments of chapter 6, passed by value as a `__grid_constant__`. An SM fetches its
/// parameters 64 bytes at a time when they are first used, and each such line costs a role some
/// hundred cycles before its first tile. So the scalars come first, in the order of their use.
struct HopperGemmArguments {
  // What the load warp needs to know its first tile.
  alignas(64) FastRaster fast_raster;  ///< of `raster`
  uint32_t k_blocks = 0;               ///< ceil(K / 128)
  LastRows last_rows;                  ///< tiles that A doesn't fill
  float beta = 0;                      ///< factor of the residual C; 0: no C
  uint32_t has_residual = 0;           ///< 0: C isn't read
  // What the math warps need, too.
  alignas(64) BScaleMatrix b_scales;  ///< B's scales
  DirectOutput direct;                ///< for tiles that are written without TMA

  CUtensorMap a;         ///< e4m3 [M, K], box 128 × (rows of a slice), swizzle 128B
  CUtensorMap b;         ///< e4m3 [N, K], box 128 × (rows of a slice), swizzle 128B
  CUtensorMap a_scales;  ///< fp32 [ceil(K/128), M], box (rows of a CTA) × 1
  CUtensorMap c;         ///< bf16 [M, N], box (columns of a slice) × (rows of a slice)
  CUtensorMap d;         ///< bf16 [M, N], box as of c
  CUtensorMap last_a;    ///< as `a` for the tiles of `last_rows`, box 128 × `last_rows.rows`

  TileRaster raster;          ///< in clusters
  StreamKArguments stream_k;  ///< how the last round is shared
  GroupSchedule groups;       ///< of a kernel with `grouped`

  /// How to load the tile of A of `tile_m` rows from `row` on.
  __device__ __forceinline__ ATileLoad a_tile_load(uint32_t row, uint32_t tile_m) const {
    if (row < last_rows.first) return {&a, row, tile_m};
    return {&last_a, row < direct.m ? row : last_rows.behind, last_rows.rows};
  }
  /// One thread: brings the tensor maps into the descriptor cache.
  __device__ __forceinline__ void prefetch_tensor_maps() const {
    ptx::prefetch_tensormap(&a);
    ptx::prefetch_tensormap(&b);
    ptx::prefetch_tensormap(&a_scales);
    ptx::prefetch_tensormap(&d);
    if (has_residual) ptx::prefetch_tensormap(&c);
    if (last_rows.rows > 0) ptx::prefetch_tensormap(&last_a);
  }
};

}  // namespace bw::hopper
