#pragma once
/// \file
/// How an H100's tensor cores sum (SummationModel::hopper).

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {

/// One step of an instruction, its K products and the accumulator, is one sum: hopper_sum.hpp has
/// the rule.
class HopperAccumulation final : public Accumulation {
 public:
  /// By the rule above.
  void multiply(const RowTile& tile, const TileFormats& formats) const override;
  /// FP8: all tiles at once (hopper_fp8_accumulation.hpp).
  void multiply_together(std::span<const RowTile> tiles, const TileFormats& formats) const override;
};

}  // namespace bw::sim
