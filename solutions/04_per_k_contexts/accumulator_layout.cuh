#pragma once
/// \file
/// Which part of an accumulator in tensor memory each epilogue thread takes (contract, chapters 4
/// and 5; PTX ISA, "Data path layout organization" of tcgen05.mma).

#include <cstdint>

#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/04_per_k_contexts/epilogue_groups.cuh"

namespace bw {

/// Layout of one CTA's part of D: `cta_rows` rows (MMA_M / cta_group) × `mma_n` columns. Every
/// epilogue thread gets one row, and `kThreadColumns` consecutive columns of it:
///
///     128 rows:            lane i holds row i; thread i takes all of it
///     128 rows, two groups: the first group's threads take the first half of the columns, the
///                           second's the second
///     64 rows, cta_group 1: the first 16 lanes of each quarter hold 16 rows; threads 0 … 15 of the
///                           warp take the first half of the columns, threads 16 … 31 the second
///     64 rows, cta_group 2: lanes 0 … 63 hold the first half of the columns, 64 … 127 the second
template <int cta_rows, int mma_n, int CtaGroup, class Groups = OneEpilogueGroup>
struct AccumulatorLayout {
  static_assert(cta_rows == 64 || cta_rows == 128,
                "a CTA holds 64 or 128 rows: MMA_M is 64 or 128 with cta_group 1, 128 or 256 with"
                " cta_group 2");
  static_assert(CtaGroup == 1 || CtaGroup == 2, "cta_group is 1 or 2");

  static_assert(Groups::kCount == 1 || cta_rows == 128,
                "two groups of epilogue warps are for 128 rows: fewer rows have two threads each"
                " already");

  /// Threads that share a row of D.
  static constexpr int kThreadsPerRow = Groups::kThreads / cta_rows;
  static constexpr int kThreadColumns = mma_n / kThreadsPerRow;  ///< columns of D that a thread has
  /// Rows use half of the lanes of each quarter, all of the columns.
  static constexpr bool kUsesHalfTheLanes = CtaGroup == 1 && cta_rows == 64;
  /// Both halves of a row are in the same lane, and a group of four warps takes each.
  static constexpr bool kTwoGroups = Groups::kCount == 2;
  /// TMEM columns of one accumulator.
  static constexpr int kTmemColumns = kUsesHalfTheLanes || kTwoGroups ? mma_n : kThreadColumns;

  static constexpr uint32_t kWarpThreads = 32;  ///< threads of a warp
  static constexpr uint32_t kHalfWarp = 16;     ///< threads of half a warp

  /// The calling thread's row of the CTA's tile.
  static __device__ __forceinline__ uint32_t row() {
    const uint32_t thread = threadIdx.x % Groups::kGroupThreads;
    return kUsesHalfTheLanes ? thread / kWarpThreads * kHalfWarp + thread % kHalfWarp
                             : thread % cta_rows;
  }
  /// Which part of the row: 0 … kThreadsPerRow - 1, the same in all threads of half a warp.
  static __device__ __forceinline__ uint32_t part() {
    if constexpr (kTwoGroups) return Groups::group();
    const uint32_t thread = threadIdx.x % Groups::kGroupThreads;
    return kUsesHalfTheLanes ? thread % kWarpThreads / kHalfWarp : thread / cta_rows;
  }
  /// The first of the calling thread's columns.
  static __device__ __forceinline__ int first_column() { return part() * kThreadColumns; }

  /// Loads the thread's columns from `column` on, one a register; whole warps.
  template <int columns>
  static __device__ __forceinline__ void load(TmemAddress accumulator, int column,
                                              float (&values)[columns]) {
    if constexpr (kTwoGroups) {
      (accumulator + first_column() + column).load_32x32b(values);
    } else if constexpr (kUsesHalfTheLanes) {
      (accumulator + column).template load_16x32bx2<kThreadColumns>(values);
    } else {
      (accumulator + column).load_32x32b(values);
    }
  }
};

}  // namespace bw
