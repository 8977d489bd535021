#include "common/simulator/units/units.hpp"

#include <fmt/core.h>

#include "common/simulator/machine/late_fault.hpp"

namespace bw::sim {
namespace {

/// A thread whose bulk store no wait has covered ends: nothing keeps the CTA, and with it the
/// source, until the copy has read it. That a copy was quick in this run changes nothing.
void require_bulk_groups_waited(Warp& warp, LaneMask lanes) {
  // At the level hardware a store that does outlive its CTA is counted when it does.
  if (!warp.cta->cluster->at_isa_level()) return;
  const BulkGroups& groups = units_of(*warp.cta).bulk_groups;
  for (const int lane : lanes_of(lanes)) {
    const uint32_t thread = warp.index * kWarpLanes + static_cast<uint32_t>(lane);
    const Instruction* const copy = groups.not_waited_for(thread);
    if (copy == nullptr) continue;
    const Origin origin{copy, static_cast<uint16_t>(warp.cta->rank),
                        static_cast<uint16_t>(warp.index), lane_bit(lane)};
    fault_at(*warp.cta->cluster, origin,
             {.code = FaultCode::copy_outlives_cta,
              .what = fmt::format("the thread that has issued this copy ends without having waited "
                                  "for it, so CTA rank {} may end while the copy still reads its "
                                  "shared memory",
                                  warp.cta->rank),
              .rule = "shared memory lives as long as its CTA",
              .fix = "wait for the copy before the exit: cp.async.bulk.commit_group, then "
                     "cp.async.bulk.wait_group.read 0 in the issuing thread",
              .section = "Shared State Space",
              .hardware_accepts = true});
  }
}

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
  require_bulk_groups_waited(warp, lanes);
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
