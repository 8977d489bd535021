#pragma once
/// \file
/// What the blockwise-scaled FP8 GEMMs of this chapter are given.

#include <cuda.h>

#include <cstdint>

#include "solutions/03_warp_contexts/output_row_writer.cuh"
#include "solutions/04_per_k_contexts/b_scales.cuh"

namespace bw {

/// fp32 [ceil(K/128), M], M contiguous: one scale per row and K block.
struct AScaleMatrix {
  const float* scales;  ///< in global memory
  int64_t stride;       ///< elements from one K block to the next

  /// The scale of a row in a K block.
  __device__ __forceinline__ float at(uint32_t row, uint32_t k_block) const {
    return scales[k_block * stride + row];
  }
};

/// Kernel arguments; the tensor maps are read in place, from parameter memory.
struct BlockwiseTileArguments {
  CUtensorMap a;              ///< e4m3 [M, K], box 128 × kTileM, swizzle 128B
  CUtensorMap b;              ///< e4m3 [N, K], box 128 × kTileN, swizzle 128B
  CUtensorMap a_scales;       ///< fp32 [ceil(K/128), M], box kTileM × 1
  AScaleMatrix a_scale_rows;  ///< the same scales, for kernels that load them by threads
  BScaleMatrix b_scales;      ///< B's scales
  OutputMatrix d;             ///< the result
  uint32_t tiles_m;           ///< CTA i computes tile (i % tiles_m, i / tiles_m)
  uint32_t k_blocks;          ///< ceil(K / 128)
};

}  // namespace bw
