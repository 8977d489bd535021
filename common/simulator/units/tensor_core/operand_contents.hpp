#pragma once
/// \file
/// Whether the operands of an MMA lie in shared memory that something has written.

#include <cstdint>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace bw::sim {

/// An operand in shared memory: in each CTA of a group at the same place.
struct SharedOperand {
  const char* name = "";       ///< "A"
  MatrixDescriptor matrix;     ///< where it lies
  Major major = Major::k;      ///< which index is contiguous
  uint32_t rows = 0;           ///< of M or N that one CTA holds
  uint32_t element_bytes = 1;  ///< of an element
  uint32_t k_bytes = 0;        ///< of a row
  /// It may be the part of a tile that lies behind another warpgroup's part.
  bool may_follow = false;
};

/// Looks at the operand in the CTAs `first_rank` to `first_rank + ctas - 1`. What is computed from
/// a row that nothing has written, or only a part of it, means nothing; rows that pad a matrix are
/// such rows, and nobody looks at their results. So nothing is said when some rows of a CTA are
/// whole, or when the part of the tile that lies before this one begins with written rows: a matrix
/// that ends in another warpgroup's part. Else nothing of the result means anything: that is a
/// fault at the level `isa`. `use`: "this multiplies".
void require_rows_written(const Site& site, uint32_t first_rank, uint32_t ctas,
                          const SharedOperand& operand, const char* use);

}  // namespace bw::sim
