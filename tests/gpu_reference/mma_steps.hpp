#pragma once
/// \file
/// Single wgmma steps on a Hopper GPU, with every intermediate accumulator: what models of the
/// tensor cores' arithmetic are compared with.

#include <cstdint>
#include <span>
#include <vector>

#include "common/host/number_formats.hpp"

namespace bw {

/// Tiles of 64 rows of A, 64 of B and one K block of 128, which is four steps of wgmma
/// m64n64k32. Matrices are row-major and follow one another.
struct MmaTiles {
  static constexpr int kRows = 64, kColumns = 64, kDepth = 128, kStepDepth = 32;
  static constexpr int kSteps = kDepth / kStepDepth;

  int tiles = 0;
  std::vector<Fp8E4m3> a;      ///< [tiles, kRows, kDepth]
  std::vector<Fp8E4m3> b;      ///< [tiles, kColumns, kDepth]
  std::vector<float> initial;  ///< [tiles, kRows, kColumns]: accumulators before the first step

  /// The operands of a step for an element, 32 of each.
  std::span<const Fp8E4m3> a_step(int tile, int row, int step) const {
    return {a.data() + (int64_t{tile} * kRows + row) * kDepth + step * kStepDepth, kStepDepth};
  }
  std::span<const Fp8E4m3> b_step(int tile, int column, int step) const {
    return {b.data() + (int64_t{tile} * kColumns + column) * kDepth + step * kStepDepth,
            kStepDepth};
  }
};

/// What the GPU made of them.
struct MmaResults {
  std::vector<float> after;    ///< [tiles, kSteps, kRows, kColumns]: accumulators after each step
  std::vector<float> chained;  ///< [tiles, kRows, kColumns]: the four steps issued as one group
};

/// Random tiles of many kinds: operands as a GEMM quantises them, with all bit patterns, sparse
/// ones, subnormals, terms that cancel; accumulators of zero, and far smaller to far larger than
/// the products. The same for the same seed.
MmaTiles random_mma_tiles(int tiles, uint64_t seed);

/// Runs the steps on the GPU. Throws Error for what CUDA reports.
MmaResults run_mma_steps(const MmaTiles& tiles);

}  // namespace bw
