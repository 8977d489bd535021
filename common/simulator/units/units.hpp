#pragma once
/// \file
/// All units of a CTA and of a cluster, and how a handler reaches them.

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/unit_state.hpp"
#include "common/simulator/units/control/register_pool.hpp"
#include "common/simulator/units/copies/bulk_groups.hpp"
#include "common/simulator/units/copies/cp_async.hpp"
#include "common/simulator/units/copies/tensor_map_watch.hpp"
#include "common/simulator/units/copies/tma_engine.hpp"
#include "common/simulator/units/synchronisation/cluster_barrier.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/synchronisation/named_barriers.hpp"
#include "common/simulator/units/synchronisation/warp_sync.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/tensor_core/wgmma/wgmma_unit.hpp"

namespace bw::sim {

/// The units of one CTA.
struct CtaUnits final : CtaUnitState {
  explicit CtaUnits(Cta& cta)
      : mbarriers(cta),
        named_barriers(cta),
        warp_sync(cta),
        tensor_memory(cta),
        tensor_core(cta),
        wgmma(cta),
        tma(cta),
        bulk_groups(cta),
        cp_async_groups(cta),
        registers(cta) {}

  MbarrierUnit mbarriers;  ///< in its shared memory
  NamedBarriers named_barriers;
  WarpSync warp_sync;
  TensorMemory tensor_memory;  ///< its columns
  TensorCore tensor_core;      ///< that it issues to
  WgmmaUnit wgmma;             ///< of its warpgroups
  TmaEngine tma;               ///< that it issues to
  BulkGroups bulk_groups;
  CpAsyncGroups cp_async_groups;
  RegisterPool registers;
};

/// The units that the CTAs of a cluster share.
struct ClusterUnits final : ClusterUnitState {
  explicit ClusterUnits(Cluster& cluster) : cluster_barrier(cluster), tensor_maps(cluster) {}

  void on_lanes_exit(Warp& warp, LaneMask lanes, Cycle now) override;
  void check_at_exit(Cta& cta) override;

  ClusterBarrier cluster_barrier;
  TensorMapWatch tensor_maps;  ///< that its copies use
};

// The factory below makes the state of every CTA and cluster, so its type is known.

/// The state, typed.
[[nodiscard]] inline CtaUnits& units_of(const Cta& cta) {
  return static_cast<CtaUnits&>(*cta.units);
}
/// The state, typed.
[[nodiscard]] inline CtaUnits& units_of(const Strand& strand) { return units_of(*strand.cta); }
/// The state, typed.
[[nodiscard]] inline ClusterUnits& units_of(const Cluster& cluster) {
  return static_cast<ClusterUnits&>(cluster.units());
}

/// What a device is given: every unit of this folder.
[[nodiscard]] const UnitFactory& all_units();

}  // namespace bw::sim
