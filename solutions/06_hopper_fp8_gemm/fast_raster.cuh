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
    const uint32_t band = band_size_.quotient(index);
    const uint32_t in_band = index - band * band_size_.divisor();
    const bool full = band < full_bands_;
    const uint32_t n = full ? in_band / TileRaster::kBand : last_height_.quotient(in_band);
    const uint32_t height = full ? TileRaster::kBand : last_height_.divisor();
    return WorkTile{band * TileRaster::kBand + in_band - n * height, n, 1, 0};
    // <<< exercise 6.5
  }

 private:
  uint32_t size_ = 0;
  FastDivisor band_size_;  ///< pieces of a full band
  uint32_t full_bands_ = 0;
  FastDivisor last_height_;  ///< pieces along M of the last band
};

}  // namespace bw::hopper
