#pragma once
/// \file
/// Lanes of Tensor Memory that hold the rows of A and D (PTX ISA, "Data Path Layout Organization").

#include <cstdint>

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

namespace bw::sim {

/// The layout of one CTA's part. Columns of N are cut into `groups` equal parts: part g is
/// `group_lanes` lanes further and uses the same columns of Tensor Memory. Each group's lanes hold
/// a copy of A and its per-row data.
struct DataPath {
  uint32_t row_blocks = 0;     ///< blocks of 16 rows
  uint32_t block_lanes = 0;    ///< from a block to the next
  uint32_t groups = 1;         ///< 1, 2 or 4
  uint32_t group_lanes = 128;  ///< from a group to the next: 128 / groups

  /// Lane of the first row of a block, from the matrix's lane.
  [[nodiscard]] constexpr uint32_t lane(uint32_t base, uint32_t block, uint32_t group) const {
    return base + group * group_lanes + block * block_lanes;
  }
  /// Half of the lanes stay free, so that a matrix may start at lane 16 too.
  [[nodiscard]] constexpr bool uses_half_lanes() const { return block_lanes > kRowBlock; }
};

/// `group` is the cta_group.
[[nodiscard]] constexpr DataPath data_path(const MmaShape& shape, int group,
                                           bool weight_stationary) {
  constexpr uint32_t kLanes = 128, kDense = kRowBlock, kHalf = 2 * kRowBlock;
  const uint32_t rows = shape.m / static_cast<uint32_t>(group);
  const uint32_t blocks = rows / static_cast<uint32_t>(kRowBlock);
  if (rows == kLanes) return {blocks, kDense, 1, kLanes};                   // A and D: 4x1
  if (weight_stationary) return {blocks, kDense, kLanes / rows, rows};      // E: 2x2, G: 1x4
  if (group == 2 && !shape.sparse) return {blocks, kDense, 2, kLanes / 2};  // B: 2x2
  return {blocks, kHalf, 1, kLanes};                                        // C and F: 4x1
}

}  // namespace bw::sim
