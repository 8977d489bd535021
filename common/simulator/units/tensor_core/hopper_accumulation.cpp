#include "common/simulator/units/tensor_core/hopper_accumulation.hpp"

#include <algorithm>

#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim {
namespace {

int least_exponent(MmaFormat format) {
  switch (format) {
    case MmaFormat::f16:
    case MmaFormat::e5m2:
      return kLeastF16Exponent;
    case MmaFormat::e4m3:
      return kLeastE4m3Exponent;
    default:
      return kLeastF32Exponent;
  }
}

/// Element by element.
void multiply_each(const RowTile& tile, const TileFormats& formats, HopperPrecision fp8) {
  HopperStep step;
  step.a_stride = kRowBlock;
  step.k = formats.step;
  step.least_a = least_exponent(formats.a);
  step.least_b = least_exponent(formats.b);
  step.half_result = formats.d == AccumulatorFormat::f16;
  step.least_accumulator = step.half_result ? kLeastF16Exponent : kLeastF32Exponent;
  step.precision = is_fp8(formats.a) ? fp8 : kHopperPrecision;
  for (size_t column = 0; column < tile.n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      float& d = tile.d[column * tile.d_stride + row];
      float sum = tile.accumulate ? d : 0.0f;
      for (size_t k = 0; k < tile.k; k += formats.step) {
        step.a = tile.a + k * kRowBlock + row;
        step.b = tile.b + column * tile.b_stride + k;
        sum = hopper_sum(step, sum);
      }
      d = sum;
    }
}

}  // namespace

void HopperAccumulation::multiply_together(std::span<const RowTile> tiles,
                                           const TileFormats& formats) const {
  const bool has_fp8_steps = is_fp8(formats.a) && is_fp8(formats.b) && formats.step == kFp8Step &&
                             formats.d == AccumulatorFormat::f32;
  const bool is_hopper = fp8_.fraction_bits == kHopperFp8Precision.fraction_bits;
  for (; !tiles.empty(); tiles = tiles.subspan(std::min(tiles.size(), kMostJointTiles))) {
    const auto joint = tiles.first(std::min(tiles.size(), kMostJointTiles));
    if (is_hopper && has_fp8_steps && multiply_fp8(joint, formats)) continue;
    for (const RowTile& tile : joint) multiply_each(tile, formats, fp8_);
  }
}

void HopperAccumulation::multiply(const RowTile& tile, const TileFormats& formats) const {
  multiply_together({&tile, 1}, formats);
}

}  // namespace bw::sim
