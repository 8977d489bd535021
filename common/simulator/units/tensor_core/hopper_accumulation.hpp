#pragma once
/// \file
/// How an H100's tensor cores sum (SummationModel::hopper), and a B200's (blackwell).

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/hopper_sum.hpp"

namespace bw::sim {

/// One step of an instruction, its K products and the accumulator, is one sum: hopper_sum.hpp has
/// the rule.
class HopperAccumulation final : public Accumulation {
 public:
  /// `fp8`: what is kept of FP8. A B200 keeps of it what it keeps of other formats.
  explicit HopperAccumulation(HopperPrecision fp8) : fp8_(fp8) {}

  /// By the rule above.
  void multiply(const RowTile& tile, const TileFormats& formats) const override;
  /// FP8: all tiles at once (hopper_fp8_accumulation.hpp).
  void multiply_together(std::span<const RowTile> tiles, const TileFormats& formats) const override;

 private:
  HopperPrecision fp8_;
};

}  // namespace bw::sim
