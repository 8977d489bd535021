#pragma once
/// \file
/// The choices that make one kernel of the Hopper GEMM.

#include <cstdint>

namespace bw::hopper {

/// A warpgroup: four warps of 32 threads.
constexpr int kWarpgroupWarps = 4;
constexpr int kWarpgroupThreads = kWarpgroupWarps * 32;  ///< threads of a warpgroup
/// Rows that one wgmma multiplies, and those of them whose sums a warp holds.
constexpr int kMmaRows = 64;
constexpr int kWarpRows = kMmaRows / kWarpgroupWarps;  ///< rows of an MMA that a warp has

/// Warpgroups of a CTA that do the math, each on its part of the tile, in waves of 64 rows. One
/// more loads and stores.
constexpr int kMathWarpgroups = 2;
/// Warps and threads that do the math.
constexpr int kMathWarps = kMathWarpgroups * kWarpgroupWarps;
/// Threads that multiply and promote.
constexpr int kMathThreads = kMathWarpgroups * kWarpgroupThreads;
/// Threads of a CTA.
constexpr int kThreads = (1 + kMathWarpgroups) * kWarpgroupThreads;

/// Compile-time choices of one kernel.
struct GemmTraits {
  int tile_m = 128;  ///< rows of a CTA's tile: a multiple of 64 for each warpgroup below another
  int tile_n = 256;  ///< columns of a CTA's tile
  int mma_n = 128;   ///< columns of one wgmma; tile_n is a multiple
  int warpgroups_along_n = 1;  ///< 2: the math warpgroups' parts are side by side, 1: one below
  int stages = 4;              ///< K blocks in the input ring
  int cluster_m = 1;           ///< CTAs of a cluster below each other: they share tiles of B
  int cluster_n = 1;           ///< side by side: they share tiles of A
  int split_k = 1;  ///< CTAs that share a tile, each with a part of K; then the cluster is theirs
  int output_slots = 2;        ///< slices of D (and C) in shared memory per math warpgroup
  int output_group = 1;        ///< of them, those that are handed to TMA, and given back, together
  bool direct_output = false;  ///< without a residual, warps store D themselves instead of by TMA
  bool writes_behind = false;  ///< a tile is written while the next one's first MMAs run
  bool stream_k = false;       ///< the last round of tiles is divided along K: StreamKSchedule
  /// All lanes of the load warp fence before its loads, not only the one that asks for them: ptxas
  /// then needs no branch in its loop.
  bool fences_together = false;
  /// The columns of D are on wgmma's M side, tile_n = 64 of them, its rows on the N side
  /// (swap_ab_kernel.cuh). Then a CTA has one tile or one part of its K, and no slots.
  bool swap_ab = false;
  int resident_ctas = 1;  ///< with swap_ab: CTAs that shall fit in one multiprocessor
  /// While one K block is promoted, the next one's MMAs run. It takes registers, and stages are
  /// held longer: for CTAs that have a multiprocessor nearly for themselves, and a ring that is
  /// deep enough for the time of a K block.
  bool two_products = false;
  bool grouped = false;  ///< the tiles of several products: GroupSchedule
  /// Laps of the ring that the math warps' loop covers in an iteration, with stage, parity and
  /// descriptors as constants; 0: one K block, with all of them in registers.
  int laps = 0;

  /// Threads of a CTA.
  constexpr int threads() const {
    constexpr int kLoadWarpThreads = 32;
    return swap_ab ? kWarpgroupThreads + kLoadWarpThreads : kThreads;
  }
  /// With swap_ab: a ring so deep that a few CTAs fill a multiprocessor.
  constexpr bool is_deep() const {
    constexpr int kDeepRing = 8;
    return swap_ab && stages >= kDeepRing;
  }
  /// Of the CTAs that share a tile's K those that write it, each its part of the columns: they add
  /// what the others send them.
  constexpr int owners() const { return split_k > 1 ? 2 : 1; }
  /// CTAs of a cluster.
  constexpr int cluster_size() const { return cluster_m * cluster_n * split_k; }
  /// Rows of D that a cluster computes.
  constexpr int cluster_rows() const { return tile_m * cluster_m; }
  /// Columns of D that a cluster computes.
  constexpr int cluster_columns() const { return tile_n * cluster_n; }
  /// Columns of a slice of D: what one TMA store moves, for 64 rows.
  constexpr int slice_columns() const {
    const int columns = tile_n / warpgroups_along_n / owners();
    return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16;
  }
};

}  // namespace bw::hopper
