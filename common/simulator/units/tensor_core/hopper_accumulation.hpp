#pragma once
/// \file
/// How an H100's tensor cores sum (SummationModel::hopper).

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {

/// One step of an instruction, its K products and the accumulator, is one sum:
/// - Products are exact. Each has the exponents of its factors added; a subnormal factor has that
/// of
///   the smallest normal number. The accumulator has its own.
/// - All terms are aligned to the largest exponent among those that are not zero; what lies below
///   2^-fraction_bits of it is cut off, towards zero. The sum of what is left is exact.
/// - The result keeps `result_bits` fraction bits; the others are cut off, towards zero. As f16 it
///   is rounded instead, to nearest even. A zero is positive.
/// - A NaN, an infinity times zero or infinities of both signs give the NaN 0x7fffffff (f16:
/// 0x7fff).
class HopperAccumulation final : public Accumulation {
 public:
  /// By the rule above.
  void multiply(const RowTile& tile, const TileFormats& formats) const override;
  /// FP8: all tiles at once (hopper_fp8_accumulation.hpp).
  void multiply_together(std::span<const RowTile> tiles, const TileFormats& formats) const override;
};

}  // namespace bw::sim
