#pragma once
/// \file
/// Tiles of A and B on their way from shared or Tensor Memory to fp32.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"
#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"

namespace bw::sim {

/// Layout of elements in memory.
struct ElementLayout {
  MmaFormat format = MmaFormat::f16;  ///< of the elements
  /// 4-bit elements are in pairs, the first one in the low half of its byte; else elements of fewer
  /// than 8 bits are padded to containers.
  bool pairs = false;

  /// Bytes of a row of `stored_bytes` with its elements in whole containers.
  [[nodiscard]] constexpr uint32_t unpacked(uint32_t stored_bytes) const {
    return pairs ? 2 * stored_bytes : stored_bytes;
  }
};

/// Copies `rows` (M or N) x `k_bytes` bytes of K out of shared memory: row r to out + r *
/// row_stride_bytes, K contiguous in containers (6- and 4-bit codes unpacked to bytes).
void fetch_shared_rows(const std::byte* shared, const MatrixDescriptor& descriptor, Major major,
                       ElementLayout layout, uint32_t rows, uint32_t k_bytes, std::byte* out,
                       size_t row_stride_bytes);

/// Likewise for 16 rows of A in Tensor Memory that start at `lane`: `columns` of 32 bits a row.
void fetch_tensor_memory_rows(TensorMemory& memory, uint32_t lane, uint32_t column,
                              uint32_t columns, ElementLayout layout, std::byte* out,
                              size_t row_stride_bytes);

}  // namespace bw::sim
