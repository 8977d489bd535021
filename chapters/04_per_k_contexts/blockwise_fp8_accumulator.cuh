#pragma once
/// \file
/// The promoted sum of the K blocks, in registers (contract, chapter 4).

#include <cstdint>
#include <type_traits>

#include "common/device/exercise.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/04_per_k_contexts/accumulator_layout.cuh"
#include "solutions/04_per_k_contexts/b_scales.cuh"

namespace bw {

/// A product is added to the sums column by column. (Chapter 5 has a class that adds two at once.)
struct OneColumnAtATime {};

/// fp32 accumulator of one CTA's part of an output tile: `tile_m` rows (of the CTA) × `tile_n`
/// columns, spread over the epilogue threads as AccumulatorLayout says. `Sums`: OneColumnAtATime,
/// or a class whose `add<columns>(sums, products, scale)` adds columns that share a scale.
template <int tile_m, int tile_n, int CtaGroup = 1, class Groups = OneEpilogueGroup,
          class Sums = OneColumnAtATime>
class BlockwiseFp8Accumulator {
 public:
  /// Where the thread's values belong.
  using Layout = AccumulatorLayout<tile_m, tile_n, CtaGroup, Groups>;
  static constexpr int kColumns = Layout::kThreadColumns;  ///< sums of a thread

 private:
  static_assert(touches_at_most_two_b_scale_blocks(tile_n),
                "a tile may touch at most two B-scale blocks: tile_n - gcd(tile_n, 128) <= 128");
  static constexpr bool kAddsPairs = !std::is_same_v<Sums, OneColumnAtATime>;
  static constexpr int kMostColumns = 192;  ///< with two small fragments, and nothing spills
  static_assert(kColumns <= kMostColumns,
                "128 rows x more than 192 columns per CTA need one accumulator register per column"
                " in each thread, and of its 255 some would spill: use a smaller N, 64 rows per"
                " CTA, or two groups of epilogue warps");
  /// Columns per tcgen05.ld; two loads' registers are in use, on top of the accumulator's.
  static constexpr int chunk_columns() {
    if (kColumns > 128) return 8;
    // More threads have fewer registers, and pairs of registers need some room to move.
    if (kColumns == 128 && (Groups::kCount > 1 || kAddsPairs)) return 16;
    return kColumns % 32 == 0 ? 32 : kColumns % 16 == 0 ? 16 : 8;
  }
  static constexpr int kChunkColumns = chunk_columns();
  static_assert(kColumns % kChunkColumns == 0,
                "a thread's columns are a multiple of 8: tile_n is a multiple of 16");
  static constexpr int kNumChunks = kColumns / kChunkColumns;
  /// Columns of a thread that divide the scale block, or are one, never straddle two.
  static constexpr bool kOneBScale = kScaleBlock % kColumns == 0;
  static constexpr int kSharing = 8;  ///< columns for which the scale is chosen together
  static_assert(columns_sharing_b_scale(tile_n) % kSharing == 0 && kColumns % kSharing == 0,
                "the boundary between two B-scales is at a multiple of 8 columns");

 public:
  /// At the start of each output tile.
  __device__ __forceinline__ void zero() {
#pragma unroll
    for (int column = 0; column < kColumns; ++column) values_[column] = 0.0f;
  }

  /// acc += fragment * (a_scale * b_scale) for one K block; the scale product is formed first.
  ///
  /// `epi_stage`: the K block's EpilogueKStage. `a_scales`: its stage's tile_m scales in shared
  /// memory. The A-scales are released as soon as they are in a register, the accumulator right
  /// after the last load from it, before the arithmetic on what was loaded. All epilogue threads.
  template <class EpilogueStage>
  __device__ __forceinline__ void promote(EpilogueStage& epi_stage, const float* a_scales,
                                          const BScalePair& b_scales) {
    const float a_scale = a_scales[Layout::row()];
    epi_stage.arrive_input();
    const int boundary = b_scales.boundary - Layout::first_column();
    const bool starts_in_second = kOneBScale && boundary <= 0;
    float scale_first = a_scale * (starts_in_second ? b_scales.second : b_scales.first);
    float scale_second = kOneBScale ? 0.0f : a_scale * b_scales.second;

    const TmemAddress tensor = epi_stage.output_stage.tmem().tensor();
    float fragments[2][kChunkColumns];
    Layout::load(tensor, 0, fragments[0]);
#pragma unroll
    for (int chunk = 0; chunk < kNumChunks; ++chunk) {
      // >>> exercise 4.9 "Load while you add"
      // Name this chunk's registers `fragment` (chunk 0's load was started above)
      // and wait for them. Keep tensor memory busy while they are added, and release
      // the accumulator as soon as nothing is left to load.
      float(&fragment)[kChunkColumns] = fragments[0];
      BW_EXERCISE_NOT_DONE("4.9", "Load while you add");
      // <<< exercise 4.9
      if constexpr (!kAddsPairs) {
#pragma unroll
        for (int i = 0; i < kChunkColumns; ++i) {
          const int column = chunk * kChunkColumns + i;
          const bool has_first = kOneBScale || column / kSharing * kSharing < boundary;
          // >>> exercise 4.3 "Promote"
          // Add fragment[i], scaled, to this column's sum. `has_first`: the column
          // has the first of the two B-scales.
          BW_EXERCISE_NOT_DONE("4.3", "Promote");
          // <<< exercise 4.3
        }
      } else {
#pragma unroll
        for (int i = 0; i < kChunkColumns; i += kSharing) {
          const int column = chunk * kChunkColumns + i;
          const bool has_first = kOneBScale || column < boundary;
          Sums::template add<kSharing>(values_ + column, fragment + i,
                                       has_first ? scale_first : scale_second);
        }
      }
    }
  }

  /// Column `column` of this thread's, counted from `Layout::first_column()`.
  __device__ __forceinline__ float operator[](int column) const { return values_[column]; }

 private:
  float values_[kColumns];
};

}  // namespace bw
