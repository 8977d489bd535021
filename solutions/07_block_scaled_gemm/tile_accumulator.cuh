#pragma once
/// \file
/// A finished tile on its way from tensor memory to the writer.

#include <cstdint>

#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/04_per_k_contexts/accumulator_layout.cuh"

namespace bw {

/// The columns of D that one epilogue thread has, in registers, multiplied by a factor. The tensor
/// core has summed all of K: nothing is promoted. What is in registers need not stay in tensor
/// memory, so the accumulator is given back before the tile is written.
template <int mma_n, int CtaGroup, class Groups>
class TileAccumulator {
 public:
  using Layout = AccumulatorLayout<128, mma_n, CtaGroup, Groups>;  ///< which thread has what
  static constexpr int kColumns = Layout::kThreadColumns;          ///< columns of D of a thread

  /// Every epilogue thread: loads its columns of `accumulator` and calls `release` when `first`
  /// columns of either end of each thread's part are in registers: the right end when
  /// `from_the_right`. With `first` = kColumns, when all are.
  template <int first, class Release>
  __device__ __forceinline__ void take(TmemAddress accumulator, bool from_the_right, float factor,
                                       const Release& release) {
    if constexpr (first >= kColumns) {
      load<0, kChunks, false>(accumulator);
      TmemAddress::wait_load_before_uses_of(factor);
      release();
    } else if (from_the_right) {
      take_in_order<first, true>(accumulator, factor, release);
    } else {
      take_in_order<first, false>(accumulator, factor, release);
    }
#pragma unroll
    for (auto& chunk : values_) {
#pragma unroll
      for (float& value : chunk) value *= factor;
    }
  }

  /// Column `column` of this thread's, counted from `Layout::first_column()`.
  __device__ __forceinline__ float operator[](int column) const {
    return values_[column / kChunkColumns][column % kChunkColumns];
  }
  /// The same, to change it.
  __device__ __forceinline__ float& operator[](int column) {
    return values_[column / kChunkColumns][column % kChunkColumns];
  }

 private:
  static constexpr int kChunkColumns = kColumns % 32 == 0 ? 32 : 16;
  static constexpr int kChunks = kColumns / kChunkColumns;
  static_assert(kColumns % kChunkColumns == 0, "a thread has a multiple of 16 columns");

  template <int first, bool from_the_right, class Release>
  __device__ __forceinline__ void take_in_order(TmemAddress accumulator, float& factor,
                                                const Release& release) {
    constexpr int kFirstChunks = (first + kChunkColumns - 1) / kChunkColumns;
    load<0, kFirstChunks, from_the_right>(accumulator);
    TmemAddress::wait_load_before_uses_of(factor);
    release();
    load<kFirstChunks, kChunks, from_the_right>(accumulator);
    TmemAddress::wait_load_before_uses_of(factor);
  }

  /// Chunks `begin` … `end` - 1, counted from the chosen end.
  template <int begin, int end, bool from_the_right>
  __device__ __forceinline__ void load(TmemAddress accumulator) {
#pragma unroll
    for (int i = begin; i < end; ++i) {
      const int chunk = from_the_right ? kChunks - 1 - i : i;
      Layout::load(accumulator, chunk * kChunkColumns, values_[chunk]);
    }
  }

  float values_[kChunks][kChunkColumns];
};

}  // namespace bw
