#pragma once
/// \file
/// The B-scales in global memory: few, shared by a whole tile, read by ordinary loads.

#include <cstdint>

#include "solutions/04_per_k_contexts/blockwise_fp8_accumulator.cuh"

namespace bw {

/// fp32 [ceil(N/128), ceil(K/128)], K contiguous.
struct BScaleMatrix {
  const float* scales;
  int64_t stride;  ///< elements from one row to the next
  uint32_t rows;   ///< ceil(N / 128)

  /// The scales of K block `k_block` for the `tile_n` columns from `column` on; zeros for columns
  /// that B doesn't have.
  template <int tile_n>
  __device__ __forceinline__ BScalePair pair_at(uint32_t column, uint32_t k_block) const {
    const uint32_t row = column / kScaleBlock;
    const float* scale = scales + row * stride + k_block;
    const int boundary = kScaleBlock - column % kScaleBlock;
    const bool has_first = row < rows;
    const bool has_second = boundary < tile_n && row + 1 < rows;
    return BScalePair{has_first ? scale[0] : 0.0f, has_second ? scale[stride] : 0.0f, boundary};
  }
};

}  // namespace bw
