#pragma once
/// \file
/// The promoted sum of the K blocks, in registers (contract, chapter 4).

#include <cstdint>

#include "common/device/scale_block.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"

namespace bw {

/// B-scales of one K block for the columns of a tile: those below `boundary` (counted in the
/// tile) have the first. A tile may straddle two scale blocks (96 columns do at column 32 of the
/// second tile), never three.
struct BScalePair {
  float first;
  float second;
  int boundary;
};

/// True when a tile of `tile_n` columns, at any multiple of `tile_n`, touches at most two
/// 128-wide B-scale blocks.
constexpr bool touches_at_most_two_b_scale_blocks(int tile_n) {
  int a = tile_n, gcd = kScaleBlock;
  while (a != 0) {
    const int rest = gcd % a;
    gcd = a;
    a = rest;
  }
  return tile_n - gcd <= kScaleBlock;
}

/// fp32 accumulator of one output tile: thread t of the 128 epilogue threads holds row t, all
/// `TileN` columns, as tcgen05.ld 32x32b delivers them for MMA_M = 128.
template <int TileM, int TileN>
class BlockwiseFp8Accumulator {
  static_assert(TileM == 128, "with 128 rows per CTA, TMEM lane, thread and row are the same");
  static_assert(touches_at_most_two_b_scale_blocks(TileN),
                "a tile may touch at most two B-scale blocks: TileN - gcd(TileN, 128) <= 128");
  static constexpr int kChunkColumns = 32;  ///< columns per tcgen05.ld; two chunks are in flight
  static_assert(TileN % kChunkColumns == 0, "TileN is a multiple of one load's columns");
  static constexpr int kNumChunks = TileN / kChunkColumns;
  /// Tiles that divide the scale block, or are one, never straddle two.
  static constexpr bool kOneBScale = kScaleBlock % TileN == 0;

 public:
  /// At the start of each output tile.
  __device__ __forceinline__ void zero() {
#pragma unroll
    for (int column = 0; column < TileN; ++column) values_[column] = 0.0f;
  }

  /// acc += fragment * (a_scale * b_scale) for one K block; the scale product is formed first.
  ///
  /// `epi_stage`: the K block's EpilogueKStage. `a_scales`: its stage's TileM scales in shared
  /// memory. The A-scales are released as soon as they are in a register, the accumulator right
  /// after the last load from it, before the arithmetic on what was loaded. All 128 epilogue
  /// threads.
  template <class EpilogueStage>
  __device__ __forceinline__ void promote(EpilogueStage& epi_stage, const float* a_scales,
                                          const BScalePair& b_scales) {
    const float a_scale = a_scales[threadIdx.x % TileM];
    epi_stage.arrive_input();
    float scale_first = a_scale * b_scales.first;
    float scale_second = kOneBScale ? 0.0f : a_scale * b_scales.second;

    const TmemAddress tensor = epi_stage.output_stage.tmem().tensor();
    float fragments[2][kChunkColumns];
    tensor.load_32x32b(fragments[0]);
#pragma unroll
    for (int chunk = 0; chunk < kNumChunks; ++chunk) {
      float(&fragment)[kChunkColumns] = fragments[chunk % 2];
      TmemAddress::wait_load_before_uses_of(scale_first);
      if constexpr (!kOneBScale) TmemAddress::wait_load_before_uses_of(scale_second);
      if (chunk + 1 < kNumChunks) {
        (tensor + (chunk + 1) * kChunkColumns).load_32x32b(fragments[(chunk + 1) % 2]);
      } else {
        epi_stage.release_accumulator();
      }
#pragma unroll
      for (int i = 0; i < kChunkColumns; ++i) {
        const int column = chunk * kChunkColumns + i;
        const float scale = kOneBScale || column < b_scales.boundary ? scale_first : scale_second;
        values_[column] = fmaf(fragment[i], scale, values_[column]);
      }
    }
  }

  /// Column `column` of this thread's row.
  __device__ __forceinline__ float operator[](int column) const { return values_[column]; }

 private:
  float values_[TileN];
};

}  // namespace bw
