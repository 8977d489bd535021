#pragma once
/// \file
/// The tensor map of an operand in bytes, which serves all block-scaled formats.

#include <cuda.h>

#include <cstdint>

#include "common/device/block_format.cuh"
#include "common/host/tensor_map.hpp"

namespace bw {

/// A [rows, row_bytes] matrix of bytes, rows `stride` bytes apart, in boxes of `box_rows` rows ×
/// 128 bytes, swizzled by 128 bytes.
inline CUtensorMap operand_bytes_map(const char* name, const void* data, int64_t rows,
                                     int64_t row_bytes, int64_t stride, int box_rows) {
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                          .element_bytes = 1,
                          .inner = static_cast<uint64_t>(row_bytes),
                          .outer = static_cast<uint64_t>(rows),
                          .stride_bytes = static_cast<uint64_t>(stride),
                          .box_inner = kBlockScaledRowBytes,
                          .box_outer = static_cast<uint32_t>(box_rows),
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

}  // namespace bw
