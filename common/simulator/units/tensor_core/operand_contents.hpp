#pragma once
/// \file
/// Whether the shared memory that holds the operands of an MMA was written.

#include <cstdint>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace bw::sim {

/// An operand in shared memory: in each CTA of a group at the same place.
struct SharedOperand {
  const char* name = "";       ///< "A"
  MatrixDescriptor matrix;     ///< where it is
  Major major = Major::k;      ///< which index is contiguous
  uint32_t rows = 0;           ///< of M or N that one CTA holds
  uint32_t element_bytes = 1;  ///< of an element
  uint32_t k_bytes = 0;        ///< of a row
  /// It may be the part of a tile that follows another warpgroup's part.
  bool may_follow = false;
};

/// Checks the operand in the CTAs `first_rank` to `first_rank + ctas - 1`. Results of a row that
/// was not written, or only in part, are meaningless; rows that pad a matrix are such rows, and
/// their results are not used. So nothing is reported when some rows of a CTA are complete, or when
/// the part of the tile before this one begins with written rows: the matrix then ends in another
/// warpgroup's part. Otherwise the whole result is meaningless: that is a fault at the level `isa`.
/// `use`: "this multiplies".
void require_rows_written(const Site& site, uint32_t first_rank, uint32_t ctas,
                          const SharedOperand& operand, const char* use);

}  // namespace bw::sim
