#pragma once
/// \file
/// What the host hands to the kernel.

#include <cuda.h>

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw::hopper {

/// fp32 [ceil(N/128), ceil(K/128)], K contiguous.
struct BScales {
  const float* scales;
  int64_t stride;  ///< elements from one row to the next
  uint32_t rows;   ///< ceil(N / 128)
};

/// Passed by value as a `__grid_constant__`: TMA reads the maps where they lie.
struct GemmKernelArguments {
  CUtensorMap a;         ///< boxes of 128 bytes × (rows of the tile / CTAs that share it)
  CUtensorMap b;         ///< likewise
  CUtensorMap a_scales;  ///< boxes of the tile's rows × 1
  CUtensorMap c;         ///< boxes of a slice; only with a residual
  CUtensorMap d;         ///< boxes of a slice
  BScales b_scales;
  TileRaster raster;  ///< in pieces of one cluster
  uint32_t k_blocks;
  float beta;
  uint32_t has_residual;
};

}  // namespace bw::hopper
