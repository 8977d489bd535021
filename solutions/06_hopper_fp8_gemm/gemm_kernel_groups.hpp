#pragma once
/// \file
/// Where the compiled kernels come from: one function for each file of kernels/.

#include <vector>

#include "solutions/06_hopper_fp8_gemm/gemm_kernel.hpp"

namespace bw::hopper::detail {

GemmKernel wide_tile();           ///< 128 × 256 over clusters of two: large shapes
GemmKernel wide_tile_single();    ///< 128 × 256, no cluster
GemmKernel tall_tile();           ///< 256 × 128, each written before the next begins: few K blocks
GemmKernel wide_tile_stream_k();  ///< 128 × 256, the last round divided along K
GemmKernel narrow_tile_stream_k();  ///< the same of 128 × 192
GemmKernel narrow_tile();           ///< 128 × 192: shapes whose columns 256 divides badly
GemmKernel narrow_tile_single();    ///< 128 × 192, no cluster: an odd number of tiles of rows

/// 128 x 128 over clusters of two, without a cluster, and K split over two CTAs: some hundred rows.
std::vector<GemmKernel> square_tiles();

/// 128 x 64 likewise: up to some hundred rows.
std::vector<GemmKernel> small_tiles();

/// 128 x 96 and 128 x 144, no cluster: shapes whose tiles of 128 and 192 columns fill a round
/// badly.
std::vector<GemmKernel> between_tiles();

/// 64 x 64, by itself and with K split over two or three CTAs, and 64 x 256, the math warpgroups
/// side by side: up to 128 rows.
std::vector<GemmKernel> half_tiles();

/// For several products in one launch (grouped_gemm.hpp), from the smallest tile on: 16 x 64 and
/// 64 x 64 with B on wgmma's M side, then 128 x 64, 128 x 192 and 128 x 256.
std::vector<GemmKernel> grouped_tiles();

/// 8 to 64 rows on wgmma's N side, 64 columns on its M side: few rows. Tiles by themselves, and
/// with K split over 2, 3 or 4 CTAs.
std::vector<GemmKernel> swap_ab_tiles();

}  // namespace bw::hopper::detail
