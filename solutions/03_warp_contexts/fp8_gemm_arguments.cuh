#pragma once
/// \file
/// What the FP8 GEMMs with one scale per tensor are given, and the tiles that they divide D into.

#include <cuda.h>

#include <cstdint>

#include "solutions/03_warp_contexts/output_row_writer.cuh"

namespace bw {

/// One output tile, and what one K block brings of A and B.
struct Fp8GemmTile {
  static constexpr int kM = 128;                ///< rows of a tile
  static constexpr int kN = 128;                ///< columns of a tile
  static constexpr int kK = 128;                ///< elements = bytes: one 128B-swizzled row
  static constexpr uint32_t kABytes = kM * kK;  ///< bytes of a tile of A
  static constexpr uint32_t kBBytes = kN * kK;  ///< bytes of a tile of B
};

/// Kernel arguments; the tensor maps are read in place, from parameter memory.
struct Fp8GemmArguments {
  CUtensorMap a;      ///< e4m3 [M, K], box Fp8GemmTile::kK × kM, swizzle 128B
  CUtensorMap b;      ///< e4m3 [N, K], box Fp8GemmTile::kK × kN, swizzle 128B
  OutputMatrix d;     ///< the result
  uint32_t tiles_m;   ///< tiles of D along M
  uint32_t tiles_n;   ///< tiles of D along N
  uint32_t k_blocks;  ///< ceil(K / 128)
  float scale;        ///< A's scale times B's
};

}  // namespace bw
