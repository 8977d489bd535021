#pragma once
/// \file
/// What one CTA of a kernel with swap_ab does.

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/scale_block.cuh"
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
  uint32_t end;     ///< after the last K block
  uint32_t b_row;   ///< in B, of the tile's first column
  /// In the B-scales, of the tile's columns.
  uint32_t scale_row;

  /// The part of the calling thread's CTA.
  static __device__ __forceinline__ SwapAbPart here(const HopperGemmArguments& args,
                                                    uint32_t tile_rows, uint32_t tile_columns) {
    const uint32_t rank = ptx::cluster_cta_rank(), split = ptx::cluster_cta_count();
    const WorkTile tile = args.fast_raster.tile(blockIdx.x / split);
    const uint32_t column = tile.n * tile_columns;
    return {rank,
            split,
            tile.m * tile_rows,
            column,
            args.k_blocks * rank / split,
            args.k_blocks * (rank + 1) / split,
            column,
            scale_row_of(args, column)};
  }

  /// A tile of one of several products, by a CTA of its own.
  static __device__ __forceinline__ SwapAbPart of_group(const HopperGemmArguments& args,
                                                        const GroupTile& tile, uint32_t tile_rows,
                                                        uint32_t tile_columns) {
    const uint32_t column = tile.n * tile_columns;
    return {0,
            1,
            tile.row_block * tile_rows,
            column,
            0,
            args.k_blocks,
            column + tile.group * args.groups.n,
            scale_row_of(args, column) + tile.group * args.groups.scale_rows};
  }

 private:
  static __device__ __forceinline__ uint32_t scale_row_of(const HopperGemmArguments& args,
                                                          uint32_t column) {
    return min(column / kScaleBlock, args.b_scales.rows - 1);
  }
};

}  // namespace bw::hopper
