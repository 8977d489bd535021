#pragma once
/// \file
/// The order in which clusters walk over the output (contract, chapter 5).

#include <cstdint>

#include "common/device/host_device.cuh"

namespace bw {

/// One cluster's piece of the output, in units of the cluster's rows and columns. `valid` is 0 in
/// the message that ends the work.
struct alignas(16) WorkTile {
  uint32_t m;       ///< of the piece, along M
  uint32_t n;       ///< of the piece, along N
  uint32_t valid;   ///< 0: no more work
  uint32_t unused;  ///< fills the message up to 16 bytes
};

/// Swizzled raster: bands of `kBand` pieces along M, each walked along N with M fastest. Clusters
/// at work together then touch a compact block of the output: few rows of A and few of B, which
/// stay in L2. The host keeps m · n below 2^31.
struct TileRaster {
  static constexpr uint32_t kBand = 8;  ///< pieces along M of a band

  uint32_t m;  ///< pieces along M
  uint32_t n;  ///< pieces along N

  /// Number of pieces.
  BW_HOST_DEVICE constexpr uint32_t size() const { return m * n; }

  /// The `index`-th piece; not valid from `size()` on.
  BW_HOST_DEVICE constexpr WorkTile tile(uint32_t index) const {
    if (index >= size()) return WorkTile{0, 0, 0, 0};
    const uint32_t band_size = kBand * n;
    const uint32_t first_m = index / band_size * kBand;
    const uint32_t in_band = index % band_size;
    const uint32_t height = m - first_m < kBand ? m - first_m : kBand;
    return WorkTile{first_m + in_band % height, in_band / height, 1, 0};
  }
};

}  // namespace bw
