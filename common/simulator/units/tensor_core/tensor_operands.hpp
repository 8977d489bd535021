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

/// Copies `rows` (M or N) x 32 bytes of K out of shared memory: row r to out + r *
/// row_stride_bytes, K contiguous in containers (6- and 4-bit codes unpacked to bytes).
void fetch_shared_rows(const std::byte* shared, const MatrixDescriptor& descriptor, Major major,
                       MmaFormat format, uint32_t rows, std::byte* out, size_t row_stride_bytes);

/// The same for 16 rows of A in Tensor Memory that start at `lane`: 8 columns of 32 bits a row.
void fetch_tensor_memory_rows(TensorMemory& memory, uint32_t lane, uint32_t column,
                              MmaFormat format, std::byte* out, size_t row_stride_bytes);

}  // namespace bw::sim
