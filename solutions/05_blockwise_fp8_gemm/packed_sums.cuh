#pragma once
/// \file
/// The promotion's arithmetic, two columns in one instruction.

#include "common/device/exercise.cuh"
#include "common/device/packed_math.cuh"

namespace bw {

/// How BlockwiseFp8Accumulator adds a chunk of a product to a thread's sums. The bits are those of
/// one `fmaf` a column.
struct PackedSums {
  /// sums[i] += products[i] * scale for `columns` columns, an even number of them.
  template <int columns>
  static __device__ __forceinline__ void add(float* sums, const float* products, float scale) {
    static_assert(columns % 2 == 0, "columns are added in pairs");
#pragma unroll
    for (int column = 0; column < columns; column += 2) {
      // >>> exercise 5.11 "Two columns in one instruction"
      const float2 product = make_float2(products[column], products[column + 1]);
      const float2 sum = make_float2(sums[column], sums[column + 1]);
      const float2 added = ptx::fma_f32x2(product, make_float2(scale, scale), sum);
      sums[column] = added.x;
      sums[column + 1] = added.y;
      // <<< exercise 5.11
    }
  }
};

}  // namespace bw
