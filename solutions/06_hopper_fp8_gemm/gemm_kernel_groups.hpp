#pragma once
/// \file
/// Where the compiled kernels come from: one function for each file of kernels/.

#include <vector>

#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw::hopper::detail {

GemmKernel wide_tile();           ///< 128 × 256 over clusters of two: large shapes
GemmKernel wide_tile_single();    ///< 128 × 256, no cluster
GemmKernel tall_tile();           ///< 256 × 128, each written before the next begins: few K blocks
GemmKernel wide_tile_stream_k();  ///< 128 × 256, the last round divided along K
GemmKernel narrow_tile_stream_k();  ///< the same of 128 × 192
GemmKernel narrow_tile();           ///< 128 × 192: shapes whose columns 256 divides badly
GemmKernel small_tile();            ///< 128 × 64: up to 128 rows
GemmKernel split_tile();            ///< 64 × 128, K split over four CTAs: few rows and few tiles

/// 128 x 256 and 128 x 64 for several products in one launch (grouped_gemm.hpp).
std::vector<GemmKernel> grouped_tiles();

/// 8 to 64 rows on wgmma's N side, 64 columns on its M side: few rows. Each tile by itself, and
/// with K split over 2, 4 and 8 CTAs.
std::vector<GemmKernel> swap_ab_tiles();

}  // namespace bw::hopper::detail
