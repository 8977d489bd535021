#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

class AllUnits final : public UnitFactory {
 public:
  [[nodiscard]] std::unique_ptr<CtaUnitState> make_for(Cta& cta) const override {
    return std::make_unique<CtaUnits>(cta);
  }
  [[nodiscard]] std::unique_ptr<SmUnitState> make_for_sm() const override {
    return std::make_unique<SmTensorMemory>();
  }
  [[nodiscard]] std::unique_ptr<ClusterUnitState> make_for(Cluster& cluster) const override {
    return std::make_unique<ClusterUnits>(cluster);
  }
};

}  // namespace

void ClusterUnits::on_lanes_exit(Warp& warp, LaneMask lanes, Cycle now) {
  CtaUnits& units = units_of(*warp.cta);
  units.warp_sync.on_lanes_exit(warp, now);
  cluster_barrier.on_lanes_exit(warp, lanes, now);
  units.named_barriers.on_lanes_exit(warp, now);
}

void ClusterUnits::check_at_exit(Cta& cta) {
  units_of(cta).tensor_memory.check_at_exit();
  units_of(cta).wgmma.check_at_exit();
}

const UnitFactory& all_units() {
  static const AllUnits units;
  return units;
}

}  // namespace bw::sim
