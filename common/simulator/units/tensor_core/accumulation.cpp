#include "common/simulator/units/tensor_core/accumulation.hpp"

#include <string>

#include "common/simulator/base/error.hpp"
#include "common/simulator/units/tensor_core/hopper_accumulation.hpp"
#include "common/simulator/units/tensor_core/matrix_product.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim {
namespace {

class Sequential final : public Accumulation {
 public:
  [[nodiscard]] bool takes_codes(const TileFormats& formats) const override {
    return is_fp8(formats.a) && is_fp8(formats.b);
  }
  void multiply(const RowTile& tile, const TileFormats& formats) const override {
    multiply_together({&tile, 1}, formats);
  }
  void multiply_together(std::span<const RowTile> tiles,
                         const TileFormats& formats) const override {
    if (tiles[0].a == nullptr)
      multiply_codes(tiles, formats);
    else
      multiply_row_blocks(tiles);
  }
};

class None final : public Accumulation {
 public:
  [[nodiscard]] bool sums() const override { return false; }
  void multiply(const RowTile&, const TileFormats&) const override {}
};

}  // namespace

const Accumulation& accumulation(SummationModel model) {
  static const Sequential sequential;
  static const HopperAccumulation hopper(kHopperFp8Precision), blackwell(kHopperPrecision);
  static const None none;
  if (model == SummationModel::sequential) return sequential;
  if (model == SummationModel::hopper) return hopper;
  if (model == SummationModel::blackwell) return blackwell;
  if (model == SummationModel::none) return none;
  throw SimulationError(Report{.code = FaultCode::setting_invalid,
                               .what = std::string("the summation model \"") +
                                       summation_name(model) + "\" is not part of this build",
                               .fix = "unset BW_SIM_ACCUMULATION, or set it to \"sequential\""});
}

}  // namespace bw::sim
