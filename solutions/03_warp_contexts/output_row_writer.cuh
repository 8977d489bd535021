#pragma once
/// \file
/// The plain way of a finished tile to global memory: every thread stores its own row. (Chapter 5
/// goes through shared memory and TMA instead.)

#include <cstdint>

#include "common/device/convert.cuh"

namespace bw {

/// D in global memory: bf16 [rows, columns], row-major, dense, 16-byte aligned rows.
struct OutputMatrix {
  uint16_t* data;    ///< in global memory
  uint32_t rows;     ///< number of rows
  uint32_t columns;  ///< a multiple of 8
};

/// Rounds the `tile_n` fp32 `values[0 … tile_n)` of one row to bf16 and stores those inside D,
/// from (row, column) on. `column` is a multiple of 8.
template <int tile_n, class Values>
__device__ __forceinline__ void write_output_row(const OutputMatrix& d, uint32_t row,
                                                 uint32_t column, const Values& values) {
  constexpr int kColumnsPerStore = sizeof(uint4) / sizeof(uint16_t);
  static_assert(tile_n % kColumnsPerStore == 0, "a tile's row is a whole number of stores");
  if (row >= d.rows) return;
  uint16_t* out = d.data + static_cast<int64_t>(row) * d.columns + column;
#pragma unroll
  for (int i = 0; i < tile_n; i += kColumnsPerStore) {
    if (column + i >= d.columns) return;
    *reinterpret_cast<uint4*>(out + i) = make_uint4(ptx::pack_bf16x2(values[i], values[i + 1]),
                                                    ptx::pack_bf16x2(values[i + 2], values[i + 3]),
                                                    ptx::pack_bf16x2(values[i + 4], values[i + 5]),
                                                    ptx::pack_bf16x2(values[i + 6], values[i + 7]));
  }
}

}  // namespace bw
