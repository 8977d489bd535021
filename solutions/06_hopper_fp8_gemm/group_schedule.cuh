#pragma once
/// \file
/// Several products in one launch: which rows belong to which, and the order of their tiles.

#include <cstdint>

#include "common/device/host_device.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw::hopper {

/// How the rows of A, C and D are divided among the products.
enum class GroupLayout : uint32_t {
  kContiguous,  ///< one product's rows after the other's; each begins at a multiple of 128
  kMasked,      ///< each product has room for the same number of rows; the first ones count
};

/// Rows at whose multiples products begin in A, C and D.
constexpr uint32_t kGroupRows = 128;

/// A tile of one of the products.
struct GroupTile {
  uint32_t group;      ///< number of the product
  uint32_t row_block;  ///< number of the block of rows in A and D
  uint32_t n;          ///< number of the tile along N
};

/// The groups, as a kernel sees them. The numbers are in device memory, so that the kernel that
/// sends tokens to their experts writes them and the host need not know them.
struct GroupSchedule {
  GroupLayout layout = GroupLayout::kContiguous;  ///< how rows are divided
  /// Contiguous: the product of each kGroupRows rows; with an invalid number no CTA computes
  /// them. Masked: the rows that count of each product, [count].
  const int32_t* numbers = nullptr;
  uint32_t count = 0;       ///< products
  uint32_t row_blocks = 0;  ///< contiguous: of A; masked: of one product's room
  uint32_t tile_m = 0;      ///< rows of a block
  uint32_t n_tiles = 0;     ///< tiles along N
  uint32_t n = 0;           ///< rows of one product's B
  uint32_t scale_rows = 0;  ///< rows of one product's B-scales

  /// Blocks of rows of a masked product; a count outside 0 ... room is clamped.
  BW_HOST_DEVICE constexpr uint32_t active_blocks(uint32_t group) const {
    const int32_t rows = numbers[group];
    if (rows <= 0) return 0;
    const uint32_t blocks = (static_cast<uint32_t>(rows) + tile_m - 1) / tile_m;
    return blocks < row_blocks ? blocks : row_blocks;
  }

  /// Calls `body(GroupTile)` for the tiles `first`, `first + step`, … of all products, product by
  /// product and in each column of tiles from top to bottom: tiles at work together share B.
  /// Every role of a CTA walks the same way.
  template <class Body>
  BW_HOST_DEVICE constexpr void for_each_tile(uint32_t first, uint32_t step, Body&& body) const {
    // One loop for both layouts: the body, a whole tile's work, is in the code once.
    uint32_t index = first;  // among the tiles of all products
    uint32_t begin = 0;      // masked: of the product's tiles
    uint32_t group = 0;
    while (true) {
      GroupTile tile{};
      if (layout == GroupLayout::kContiguous) {
        if (index >= row_blocks * n_tiles) return;
        tile = contiguous_tile(index);
      } else {
        uint32_t blocks = 0;
        for (; group < count; ++group) {
          blocks = active_blocks(group);
          if (index < begin + blocks * n_tiles) break;
          begin += blocks * n_tiles;
        }
        if (group >= count) return;
        const uint32_t column = (index - begin) / blocks;
        const uint32_t block = index - begin - column * blocks;
        tile = {group, group * row_blocks + block, column};
      }
      index += step;
      if (tile.group < count) body(tile);
    }
  }

 private:
  /// The place that the raster of one product gives.
  BW_HOST_DEVICE constexpr GroupTile contiguous_tile(uint32_t index) const {
    const WorkTile tile = TileRaster{row_blocks, n_tiles}.tile(index);
    return {static_cast<uint32_t>(numbers[tile.m * tile_m / kGroupRows]), tile.m, tile.n};
  }
};

}  // namespace bw::hopper
