#pragma once
/// \file
/// The zero-column mask descriptor of tcgen05.mma.ws (PTX ISA, "Zero-Column Mask Descriptor"):
/// columns of B that count as zero, and a shift of B's columns.

#include <bitset>
#include <cstdint>
#include <optional>

#include "common/simulator/base/error.hpp"
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

namespace bw::sim {

/// The columns that a mask makes zero.
struct ZeroColumns {
  static constexpr uint32_t kMostColumns = 256;  ///< most columns of a mask
  std::bitset<kMostColumns> mask;                ///< bit n: column n of the (shifted) B is zero
  uint32_t shift = 0;  ///< the product's column n is column n + shift of B
};

/// Decodes the descriptor for an MMA of this shape. The lengths of the two spans follow the ISA's
/// examples: Skip Span + 1 ones (zeroed columns), Use Span + 1 zeros.
[[nodiscard]] ZeroColumns decode_zero_columns(uint64_t bits, const MmaShape& shape);

/// What is wrong with the bits: reserved bits, a shift beyond the one that the instruction
/// descriptor or M allows.
[[nodiscard]] std::optional<Fault> check_zero_columns(uint64_t bits, const MmaShape& shape);

}  // namespace bw::sim
