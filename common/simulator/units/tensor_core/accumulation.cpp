#include "common/simulator/units/tensor_core/accumulation.hpp"

#include <string>

#include "common/simulator/base/error.hpp"
#include "common/simulator/units/tensor_core/hopper_accumulation.hpp"
#include "common/simulator/units/tensor_core/matrix_product.hpp"

namespace bw::sim {
namespace {

class Sequential final : public Accumulation {
 public:
  void multiply(const RowTile& tile, const TileFormats&) const override {
    multiply_row_blocks({&tile, 1});
  }
  void multiply_together(std::span<const RowTile> tiles, const TileFormats&) const override {
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
  static const HopperAccumulation hopper;
  static const None none;
  if (model == SummationModel::sequential) return sequential;
  if (model == SummationModel::hopper) return hopper;
  if (model == SummationModel::none) return none;
  throw SimulationError(Report{.code = FaultCode::setting_invalid,
                               .what = std::string("the summation model \"") +
                                       summation_name(model) + "\" is not part of this build",
                               .fix = "unset BW_SIM_ACCUMULATION, or set it to \"sequential\""});
}

}  // namespace bw::sim
