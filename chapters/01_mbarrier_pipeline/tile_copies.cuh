#pragma once
/// \file
/// Three ways of a tile into shared memory. They differ in who moves the bytes and in what
/// completes `full`; the pipeline around them is the same.

#include <cuda.h>

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tma_load.cuh"

namespace bw {

constexpr int kTileRows = 32;      ///< rows of a tile
constexpr int kTileColumns = 128;  ///< columns of a tile

/// One stage of the ring: row-major, as in global memory.
struct alignas(128) MatrixTile {
  float values[kTileRows][kTileColumns];  ///< the tile, row by row
};

/// Kernel arguments; the tensor map is read in place, from parameter memory.
struct ColumnSumArguments {
  CUtensorMap map;      ///< of `matrix`, box kTileRows × kTileColumns, not swizzled
  const float* matrix;  ///< [rows, columns], row-major, 16-byte aligned
  uint32_t rows;        ///< rows that the matrix has there
  uint32_t columns;     ///< a multiple of 4: rows are then a multiple of 16 bytes long
  float* sums;          ///< [columns]
  uint64_t* cycles;     ///< [CTAs]: from the first tile's wait to the last one's sum
};

/// The part of the matrix that one stage holds: `rows` × `columns` from (row, column) on. Tiles at
/// the matrix's edges are smaller.
struct TileRegion {
  uint32_t row;      ///< the first one in the matrix
  uint32_t column;   ///< the first one in the matrix
  uint32_t rows;     ///< that the matrix has there
  uint32_t columns;  ///< that the matrix has there

  /// The `tile`-th tile, counted downwards, of the band of columns that the CTA sums.
  static __device__ __forceinline__ TileRegion of(const ColumnSumArguments& args, uint32_t tile) {
    const uint32_t row = tile * kTileRows, column = blockIdx.x * kTileColumns;
    return TileRegion{row, column, min(kTileRows, args.rows - row),
                      min(kTileColumns, args.columns - column)};
  }
  /// Where a row of the tile begins in global memory.
  __device__ __forceinline__ const float* first_of_row(const ColumnSumArguments& args,
                                                       uint32_t tile_row) const {
    return args.matrix + static_cast<int64_t>(row + tile_row) * args.columns + column;
  }
};

/// The threads themselves move the bytes: loads from global memory into registers, a few rows at
/// once, then stores to shared memory. Each lane arrives on `full`, which releases its own stores.
struct PlainCopy {
  static constexpr uint32_t kProducerArrivals = ptx::kWarpThreads;  ///< arrivals that fill a stage
  static constexpr int kValuesPerLane = kTileColumns / ptx::kWarpThreads;  ///< of a row
  static constexpr uint32_t kRowsInFlight = 8;  ///< loads that a lane waits for together
  static_assert(kValuesPerLane * sizeof(float) == sizeof(float4), "a warp moves a row at once");
  static_assert(kTileRows % kRowsInFlight == 0, "a tile is a whole number of groups");

  /// Brings the tile and signals `full`: what this way of copying takes.
  static __device__ __forceinline__ void fill(const ColumnSumArguments& args,
                                              const TileRegion& region, MatrixTile& tile,
                                              SharedMemBarrier* full) {
    copy_rows(args, region, tile);
    full->arrive();
  }

  /// The copy alone; signals nothing.
  static __device__ __forceinline__ void copy_rows(const ColumnSumArguments& args,
                                                   const TileRegion& region, MatrixTile& tile) {
    const uint32_t column = threadIdx.x % ptx::kWarpThreads * kValuesPerLane;
    if (column >= region.columns) return;
    for (uint32_t first = 0; first < region.rows; first += kRowsInFlight) {
      float4 values[kRowsInFlight];
#pragma unroll
      for (uint32_t i = 0; i < kRowsInFlight; ++i) {
        const uint32_t row = min(first + i, region.rows - 1);  // rows past the edge: any row
        values[i] = *reinterpret_cast<const float4*>(region.first_of_row(args, row) + column);
      }
#pragma unroll
      for (uint32_t i = 0; i < kRowsInFlight; ++i) {
        *reinterpret_cast<float4*>(&tile.values[first + i][column]) = values[i];
      }
    }
  }
};

/// The copy engine moves contiguous bytes: each lane starts the copy of one row. One lane has
/// arrived before, with the bytes of all of them.
struct BulkCopy {
  static constexpr uint32_t kProducerArrivals = 1;  ///< arrivals that fill a stage

  /// Brings the tile and signals `full`: what this way of copying takes.
  static __device__ __forceinline__ void fill(const ColumnSumArguments& args,
                                              const TileRegion& region, MatrixTile& tile,
                                              SharedMemBarrier* full) {
    static_assert(kTileRows == ptx::kWarpThreads, "one row per lane");
    const uint32_t row = threadIdx.x % ptx::kWarpThreads;
    const uint32_t row_bytes = region.columns * sizeof(float);
    // >>> exercise 1.7 "Announce the bytes"
    // One arrival on `full` for the whole stage, with the bytes of all copies below.
    BW_EXERCISE_NOT_DONE("1.7", "Announce the bytes");
    // <<< exercise 1.7
    if (row < region.rows) {
      ptx::bulk_load(ptx::shared_address(tile.values[row]), region.first_of_row(args, row),
                     row_bytes, full->address());
    }
  }
};

/// The copy engine knows the matrix: one lane names a box by its coordinates. The bytes are those
/// of the whole box; elements outside of the matrix arrive as zeros.
struct TensorCopy {
  static constexpr uint32_t kProducerArrivals = 1;  ///< arrivals that fill a stage

  /// Brings the tile and signals `full`: what this way of copying takes.
  static __device__ __forceinline__ void fill(const ColumnSumArguments& args,
                                              const TileRegion& region, MatrixTile& tile,
                                              SharedMemBarrier* full) {
    if (ptx::elect_one()) {
      full->arrive_and_expect_bytes(sizeof(MatrixTile));
      ptx::tma_load_2d(ptx::shared_address(&tile), &args.map, full->address(), region.column,
                       region.row);
    }
    __syncwarp();
  }
};

}  // namespace bw
