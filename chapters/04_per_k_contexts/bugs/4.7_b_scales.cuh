#pragma once
/// \file
/// The B-scales (contract, chapter 5, "Data layouts" and "Shapes"): few, shared by a whole tile,
/// read from global memory by ordinary loads.

#include <cstdint>

#include "common/device/host_device.cuh"
#include "common/device/scale_block.cuh"

namespace bw {

/// B-scales of one K block for the columns of a tile: those below `boundary` (counted in the
/// tile) have the first. A tile may straddle two scale blocks (96 columns do at column 32 of the
/// second tile), never three.
struct BScalePair {
  float first;   ///< scale of the columns before `boundary`
  float second;  ///< scale of the others
  int boundary;  ///< column of the tile where the second begins
};

/// Columns that always share their B-scale: gcd(tile_n, 128), since tiles start at multiples of
/// `tile_n` and scale blocks at multiples of 128.
BW_HOST_DEVICE constexpr int columns_sharing_b_scale(int tile_n) {
  int a = tile_n, gcd = kScaleBlock;
  while (a != 0) {
    const int rest = gcd % a;
    gcd = a;
    a = rest;
  }
  return gcd;
}

/// True when a tile of `tile_n` columns, at any multiple of `tile_n`, touches at most two
/// 128-wide B-scale blocks.
BW_HOST_DEVICE constexpr bool touches_at_most_two_b_scale_blocks(int tile_n) {
  return tile_n - columns_sharing_b_scale(tile_n) <= kScaleBlock;
}

/// fp32 [ceil(N/128), ceil(K/128)], K contiguous.
struct BScaleMatrix {
  const float* scales;  ///< in global memory
  int64_t stride;       ///< elements from one row to the next
  uint32_t rows;        ///< ceil(N / 128)

  /// The scales of K block `k_block` for the `tile_n` columns from `column` on; zeros for columns
  /// that B doesn't have.
  template <int tile_n>
  __device__ __forceinline__ BScalePair pair_at(uint32_t column, uint32_t k_block) const {
    const uint32_t row = column / kScaleBlock;
    const float* scale = scales + row * stride + k_block;
    const int boundary = kScaleBlock - column % kScaleBlock;
    const bool has_first = row < rows;
    const bool has_second = boundary < tile_n && row + 1 < rows;
    return BScalePair{has_first ? scale[0] : 0.0f, has_second ? scale[1] : 0.0f, boundary};
  }
};

}  // namespace bw
