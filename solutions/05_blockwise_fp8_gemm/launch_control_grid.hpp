#pragma once
/// \file
/// The grid whose clusters launch control hands out.

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw {

/// A raster as a grid of clusters: x is the place along M in a band, y the place along N, z the
/// band. So a cluster's coordinates say which piece it is, without a division. Where clusters start
/// with x fastest, which CUDA does not promise, they come in the order of the raster.
struct LaunchControlGrid {
  uint32_t x;  ///< clusters along M in a band
  uint32_t y;  ///< clusters along N
  uint32_t z;  ///< bands

  /// A band has the smallest divisor of the raster's pieces along M from TileRaster::kBand on, or
  /// all of them, so that every cluster of the grid has a piece.
  static constexpr LaunchControlGrid of(const TileRaster& raster) {
    uint32_t band = TileRaster::kBand < raster.m ? TileRaster::kBand : raster.m;
    while (raster.m % band != 0) ++band;
    return {band, raster.n, raster.m / band};
  }

  static constexpr uint32_t kMostInYOrZ = 65535;  ///< CTAs that CUDA allows there
  /// Whether CUDA launches it, with `cluster_n` CTAs along N in a cluster.
  constexpr bool is_possible(uint32_t cluster_n) const {
    return y <= kMostInYOrZ / cluster_n && z <= kMostInYOrZ;
  }
};

}  // namespace bw
