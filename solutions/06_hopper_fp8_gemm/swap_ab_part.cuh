#pragma once
/// \file
/// What one CTA of a kernel with swap_ab does.

#include <cstdint>

#include "common/device/cluster.cuh"
#include "solutions/06_hopper_fp8_gemm/hopper_gemm_arguments.cuh"

namespace bw::hopper {

/// K blocks `first` to `end` - 1 of the tile of D whose first element is (row, column): the part of
/// CTA `rank` of the `split` that the tile's cluster has.
struct SwapAbPart {
  uint32_t rank;    ///< of the CTA in its cluster
  uint32_t split;   ///< CTAs that share the tile's K
  uint32_t row;     ///< the tile's first one in D
  uint32_t column;  ///< the tile's first one in D
  uint32_t first;   ///< first K block
  uint32_t end;     ///< behind the last K block

  /// The part of the calling thread's CTA.
  static __device__ __forceinline__ SwapAbPart here(const HopperGemmArguments& args,
                                                    uint32_t tile_rows, uint32_t tile_columns) {
    const uint32_t rank = ptx::cluster_cta_rank(), split = ptx::cluster_cta_count();
    const WorkTile tile = args.fast_raster.tile(blockIdx.x / split);
    return {rank,
            split,
            tile.m * tile_rows,
            tile.n * tile_columns,
            args.k_blocks * rank / split,
            args.k_blocks * (rank + 1) / split};
  }
};

}  // namespace bw::hopper
