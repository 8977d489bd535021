#pragma once
/// \file
/// The matrix that the TMA measurements copy from and to, and maps of it.

#include <cstdint>

#include "common/host/device_buffer.hpp"
#include "common/host/tensor_map.hpp"

namespace bw::timing {

/// Rows of bytes in device memory.
class ByteMatrix {
 public:
  ByteMatrix(uint32_t row_bytes, uint32_t rows)
      : row_bytes_(row_bytes), rows_(rows), memory_(size_t{row_bytes} * rows) {
    memory_.fill_bytes(1);
  }

  /// A map for boxes of `box_rows` rows of `box_bytes` (at most 256) each. Rows of 128 bytes are
  /// swizzled, as operands are; other rows are not.
  [[nodiscard]] CUtensorMap map(uint32_t box_bytes, uint32_t box_rows) const {
    return make_tensor_map({.name = "boxes",
                            .data = memory_.data(),
                            .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                            .element_bytes = 1,
                            .inner = row_bytes_,
                            .outer = rows_,
                            .stride_bytes = row_bytes_,
                            .box_inner = box_bytes,
                            .box_outer = box_rows,
                            .swizzle = box_bytes == kSwizzledBytes ? CU_TENSOR_MAP_SWIZZLE_128B
                                                                   : CU_TENSOR_MAP_SWIZZLE_NONE});
  }
  [[nodiscard]] const uint8_t* data() const { return memory_.data(); }
  [[nodiscard]] uint8_t* data() { return memory_.data(); }
  [[nodiscard]] uint32_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] uint32_t rows() const { return rows_; }

 private:
  static constexpr uint32_t kSwizzledBytes = 128;
  uint32_t row_bytes_;
  uint32_t rows_;
  DeviceBuffer<uint8_t> memory_;
};

}  // namespace bw::timing
