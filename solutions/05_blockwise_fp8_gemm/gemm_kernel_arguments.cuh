#pragma once
/// \file
/// What the host hands to the kernel.

#include <cuda.h>

#include <cstdint>

#include "solutions/04_per_k_contexts/b_scales.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw {

/// Kernel arguments; the tensor maps are read where they lie in parameter memory. Boxes are what
/// one copy moves: `slices` of a tile that CTAs of a cluster share, and OutputSlice's.
struct GemmKernelArguments {
  CUtensorMap a;         ///< e4m3 [M, K], box 128 × (rows of a slice), swizzle 128B
  CUtensorMap b;         ///< e4m3 [N, K], box 128 × (rows of a slice), swizzle 128B
  CUtensorMap a_scales;  ///< fp32 [ceil(K/128), M], box (rows of a CTA) × 1
  CUtensorMap c;         ///< bf16 [M, N], box (columns of a slice) × (rows of a CTA)
  CUtensorMap d;         ///< bf16 or fp32 [M, N], box as of c
  BScaleMatrix b_scales;
  TileRaster raster;  ///< in clusters
  uint32_t k_blocks;  ///< ceil(K / 128)
  float beta;
  uint32_t has_residual;  ///< 0: C isn't read
};

}  // namespace bw
