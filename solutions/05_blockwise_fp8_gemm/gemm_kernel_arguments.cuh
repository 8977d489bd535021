#pragma once
/// \file
/// What the host hands to the kernel of chapter 5; chapter 6 makes its own arguments of it.

#include <cuda.h>

#include <cstdint>

#include "common/device/tma_load.cuh"
#include "solutions/04_per_k_contexts/b_scales.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw {

/// Kernel arguments of chapter 5, passed by value as a `__grid_constant__`: TMA reads the
/// tensor maps in place. Boxes are the units of one copy: `slices` of a tile that CTAs of a
/// cluster share, and slices of the output.
struct GemmKernelArguments {
  CUtensorMap a;          ///< e4m3 [M, K], box 128 × (rows of a slice), swizzle 128B
  CUtensorMap b;          ///< e4m3 [N, K], box 128 × (rows of a slice), swizzle 128B
  CUtensorMap a_scales;   ///< fp32 [ceil(K/128), M], box (rows of a CTA) × 1
  CUtensorMap c;          ///< bf16 [M, N], box (columns of a slice) × (rows of a slice)
  CUtensorMap d;          ///< bf16 or fp32 [M, N], box as of c
  BScaleMatrix b_scales;  ///< B's scales
  TileRaster raster;      ///< in clusters
  uint32_t k_blocks;      ///< ceil(K / 128)
  float beta;             ///< factor of the residual C; 0: no C
  uint32_t has_residual;  ///< 0: C isn't read

  /// One thread: brings the tensor maps into the descriptor cache.
  __device__ __forceinline__ void prefetch_tensor_maps() const {
    ptx::prefetch_tensormap(&a);
    ptx::prefetch_tensormap(&b);
    ptx::prefetch_tensormap(&a_scales);
    ptx::prefetch_tensormap(&d);
    if (has_residual) ptx::prefetch_tensormap(&c);
  }
};

}  // namespace bw
