#pragma once
/// \file
/// Structured sparsity of A: metadata in Tensor Memory and what it means (PTX ISA, "Sparse
/// Matrices").
///
/// A row of A is stored as the half of its elements that are not zero. Along K it is cut into
/// chunks with one 4-bit index each: of 2 elements, one of them stored (kind::tf32); of 4, two of
/// them stored; of 8, two neighbouring pairs of them stored (the 4-bit kinds).
///
/// Where the indices are, from the figures of "Sparsity selector" as published kernels write
/// them. 8- and 4-bit kinds: lane = row, 8 indices a word, two columns. 16- and 32-bit kinds: one
/// column, the one of the address's pair that the selector names; of 16 rows, lane l holds row
/// l % 8 in its low half and row l % 8 + 8 in its high half: the first four indices for l < 8, the
/// last four for the others.

#include <cstdint>
#include <optional>

#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"

namespace bw::sim {

/// Most chunks along K of one instruction.
inline constexpr uint32_t kMostChunks = 16;

/// How a kind's chunks look.
struct SparseChunks {
  uint32_t count = 0;     ///< along K
  uint32_t elements = 0;  ///< of K in a chunk
  uint32_t stored = 0;    ///< of them
  uint32_t columns = 0;   ///< of Tensor Memory that the metadata takes
};
/// The layout of A's chunks.
[[nodiscard]] SparseChunks sparse_chunks(const MmaShape& shape);

/// For 16 rows whose lanes start at `lane`: the position along K of each stored element, as
/// [stored element][16]. Returns the fault if an index is invalid. `takes_zero`: 0b0000, by which
/// encoders mark a chunk of zeros, is valid; both elements are at position 0 then.
[[nodiscard]] std::optional<Fault> read_metadata(TensorMemory& memory, const MmaShape& shape,
                                                 uint32_t lane, uint32_t column, bool takes_zero,
                                                 uint16_t* positions);

}  // namespace bw::sim
