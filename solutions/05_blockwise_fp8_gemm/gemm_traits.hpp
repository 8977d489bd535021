#pragma once
/// \file
/// The choices that make one kernel of the GEMM (contract, chapter 5, "Shapes to support").

#include <cstdint>

#include "common/device/scale_block.cuh"

namespace bw {

/// Element type of D.
enum class OutputType { kBf16, kFp32 };

/// How a cluster finds the tile that it computes next.
enum class TileScheduling {
  kStatic,         ///< a persistent grid; tile i + round * clusters
  kLaunchControl,  ///< a grid of all tiles; running clusters take over those that haven't started
};

/// Compile-time choices of one kernel. `mma_m` × `mma_n` is one MMA: of a CTA with cta_group 1, of
/// a pair of CTAs with cta_group 2.
struct GemmTraits {
  int mma_m = 128;                                      ///< rows of the MMA: of both CTAs of a pair
  int mma_n = 128;                                      ///< columns of the MMA
  int cta_group = 1;                                    ///< CTAs that share an MMA
  int cluster_m = 1;                                    ///< CTAs of the cluster along M
  int cluster_n = 1;                                    ///< CTAs of the cluster along N
  TileScheduling scheduling = TileScheduling::kStatic;  ///< who says which tile is next
  OutputType output = OutputType::kBf16;                ///< element type of D
  int k_group_size = 1;  ///< K blocks of one stage of the input ring: 1 or 2

  /// Rows of A, C and D of one CTA.
  constexpr int cta_rows() const { return mma_m / cta_group; }
  /// Rows of B that one CTA holds; a pair's MMA takes half from each.
  constexpr int cta_b_rows() const { return mma_n / cta_group; }
  /// CTAs of a cluster.
  constexpr int cluster_size() const { return cluster_m * cluster_n; }
  /// Rows and columns of D of one cluster.
  constexpr int cluster_rows() const { return cta_rows() * cluster_m; }
  /// Columns of D that a cluster computes.
  constexpr int cluster_columns() const { return mma_n * cluster_n; }
  /// CTAs that share a tile of A, and a tile of B: each loads a slice and multicasts it.
  constexpr int a_slices() const { return cluster_n; }
  /// Parts in which a column of CTAs loads a tile of B.
  constexpr int b_slices() const { return cluster_m / cta_group; }
  /// Groups of four epilogue warps. A thread of one group would promote 256 columns of a 128-row
  /// tile, in more accumulator registers than the 255 it can have; two groups take half each.
  constexpr int epilogue_groups() const {
    constexpr int kMostColumnsPerThread = 192;
    return cta_rows() == 128 && mma_n > kMostColumnsPerThread ? 2 : 1;
  }
  /// Bytes of an element of D.
  constexpr int output_bytes() const { return output == OutputType::kBf16 ? 2 : 4; }

  constexpr bool operator==(const GemmTraits&) const = default;
};

/// The tensor core's shapes for e4m3 operands.
constexpr bool is_mma_shape(const GemmTraits& t) {
  constexpr int kMostColumns = 256;
  if (t.mma_n <= 0 || t.mma_n > kMostColumns) return false;
  if (t.cta_group == 1) return (t.mma_m == 64 || t.mma_m == 128) && t.mma_n % 16 == 0;
  return t.cta_group == 2 && (t.mma_m == 128 || t.mma_m == 256) && t.mma_n % 32 == 0;
}

/// The cluster shapes of the contract.
constexpr bool is_cluster_shape(const GemmTraits& t) {
  constexpr int kShapes[][2] = {{1, 1}, {2, 1}, {2, 2}, {4, 2}, {4, 4}, {8, 2}};
  for (const auto& shape : kShapes) {
    if (t.cluster_m == shape[0] && t.cluster_n == shape[1]) return true;
  }
  return false;
}

/// True when the slices that CTAs multicast start at whole repeats of the 128B swizzle.
constexpr bool slices_keep_the_swizzle(const GemmTraits& t) {
  constexpr int kRowsPerRepeat = 8;
  return t.cta_rows() % (t.a_slices() * kRowsPerRepeat) == 0 && t.b_slices() > 0 &&
         t.cta_b_rows() % (t.b_slices() * kRowsPerRepeat) == 0;
}

}  // namespace bw
