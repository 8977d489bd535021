#pragma once
/// \file
/// The B-scales that one output tile needs for a K block (contract, chapter 5, "Shapes").

#include "common/device/host_device.cuh"
#include "common/device/scale_block.cuh"

namespace bw {

/// B-scales of one K block for the columns of a tile: those below `boundary` (counted in the
/// tile) have the first. A tile may straddle two scale blocks (96 columns do at column 32 of the
/// second tile), never three.
struct BScalePair {
  float first;
  float second;
  int boundary;
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

}  // namespace bw
