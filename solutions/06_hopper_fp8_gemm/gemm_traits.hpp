#pragma once
/// \file
/// The choices that make one kernel of the Hopper GEMM.

#include <cstdint>

namespace bw::hopper {

/// Rows that one wgmma multiplies.
constexpr int kMmaRows = 64;
constexpr int kWarpgroupThreads = 128;

/// Compile-time choices of one kernel. A CTA has one warpgroup that loads and two or three that
/// do the math, each on its part of the tile's rows, in waves of 64.
struct GemmTraits {
  int tile_m = 128;  ///< rows of a CTA's tile: 128 or 256, with three math warpgroups 192
  int tile_n = 256;  ///< columns of a CTA's tile
  int mma_n = 128;   ///< columns of one wgmma; tile_n is a multiple
  int math_warpgroups = 2;
  int stages = 4;  ///< K blocks in the input ring
  int cluster_m = 1;
  int cluster_n = 1;
  int split_k = 1;  ///< CTAs that share a tile, each with a part of K; then the cluster is theirs
  int output_slots = 2;    ///< slices of D (and C) in shared memory per math warpgroup

  constexpr int threads() const { return (1 + math_warpgroups) * kWarpgroupThreads; }
  constexpr int cluster_size() const { return cluster_m * cluster_n * split_k; }
  constexpr int cluster_rows() const { return tile_m * cluster_m; }
  constexpr int cluster_columns() const { return tile_n * cluster_n; }
  /// Columns of a slice of D: what one TMA store moves, for 64 rows.
  constexpr int slice_columns() const {
    const int columns = tile_n / split_k;
    return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16;
  }

  constexpr bool operator==(const GemmTraits&) const = default;
};

}  // namespace bw::hopper
