#pragma once
/// \file
/// Which Tensor Memory and which shared memory an operation of the tensor core touches: for
/// observers, and for the rules about what must outlive it.

#include <cstdint>
#include <vector>

#include "common/simulator/machine/observer.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"

namespace bw::sim {

/// Tensor Memory of all CTAs that an operation works for; the one that issues it has rank
/// `first_rank`. Lanes that a mask disables count as written.
[[nodiscard]] std::vector<TensorRange> tensor_ranges(const MmaOperation& mma, uint32_t first_rank);
/// Of a copy from shared memory.
[[nodiscard]] std::vector<TensorRange> tensor_ranges(const CopyOperation& copy,
                                                     uint32_t first_rank);
/// Of a shift.
[[nodiscard]] std::vector<TensorRange> tensor_ranges(const ShiftOperation& shift,
                                                     uint32_t first_rank);

/// What one CTA holds of an operand in shared memory: `rows` of M or N, `k_bytes` along K, elements
/// of `element_bytes`. Runs of whole chunks, ascending.
[[nodiscard]] std::vector<MemoryRange> matrix_runs(const MatrixDescriptor& matrix, Major major,
                                                   uint32_t rows, uint32_t element_bytes,
                                                   uint32_t k_bytes, uint32_t cta_rank);

/// The operands that are read from shared memory, each as its runs, in each CTA.
[[nodiscard]] std::vector<std::vector<MemoryRange>> shared_operands(const MmaOperation& mma,
                                                                    uint32_t first_rank);
/// Of a copy to Tensor Memory: its source.
[[nodiscard]] std::vector<std::vector<MemoryRange>> shared_operands(const CopyOperation& copy,
                                                                    uint32_t first_rank);
/// Of a shift: none.
[[nodiscard]] std::vector<std::vector<MemoryRange>> shared_operands(const ShiftOperation& shift,
                                                                    uint32_t first_rank);

}  // namespace bw::sim
