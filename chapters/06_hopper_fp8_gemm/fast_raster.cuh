#pragma once
/// \file
/// Chapter 5's raster without divisions.

#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/fast_divisor.cuh"
#include "common/device/host_device.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw::hopper {

/// Gives the places that TileRaster gives. The load warp can't ask for anything before it knows its
/// first tile, and no math warpgroup multiplies while it looks for its next one.
class FastRaster {
 public:
  constexpr FastRaster() = default;
  /// The same order as `raster`, without divisions.
  constexpr explicit FastRaster(const TileRaster& raster)
      : size_(raster.size()),
        band_size_(TileRaster::kBand * raster.n),
        full_bands_(raster.m / TileRaster::kBand),
        last_height_(raster.m % TileRaster::kBand == 0 ? TileRaster::kBand
                                                       : raster.m % TileRaster::kBand) {}

  /// Number of pieces.
  BW_HOST_DEVICE constexpr uint32_t size() const { return size_; }

  /// The `index`-th piece, for an index below size().
  BW_HOST_DEVICE constexpr WorkTile tile(uint32_t index) const {
    static_assert((TileRaster::kBand & (TileRaster::kBand - 1)) == 0,
                  "division by the height of a band is a shift");
    // >>> exercise 6.5 "A raster without divisions"
    // Find the place of piece `index`, as TileRaster::tile does, by band_size_.quotient()
    // and last_height_.quotient(). The first full_bands_ bands are TileRaster::kBand
    // pieces high; the last one has the height last_height_.divisor().
    BW_EXERCISE_NOT_DONE("6.5", "A raster without divisions");
    // <<< exercise 6.5
  }

 private:
  uint32_t size_ = 0;
  FastDivisor band_size_;  ///< pieces of a full band
  uint32_t full_bands_ = 0;
  FastDivisor last_height_;  ///< pieces along M of the last band
};

}  // namespace bw::hopper
