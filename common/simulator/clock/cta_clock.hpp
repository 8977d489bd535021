#pragma once
/// \file
/// The SM of a CTA, as far as the CTA's own warps, copies and MMAs compete for it: their requests,
/// and when each is served.

#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/barrier_times.hpp"
#include "common/simulator/clock/copy_times.hpp"
#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/l2_view.hpp"
#include "common/simulator/clock/sm_memory.hpp"
#include "common/simulator/clock/sm_times.hpp"
#include "common/simulator/clock/tensor_core_times.hpp"
#include "common/simulator/clock/wgmma_times.hpp"

namespace bw::sim {

struct TimingTable;

/// The clock of an SM as one CTA meets it.
class CtaClock : public SmTimes {
 public:
  /// For the CTA of that rank in its cluster, which has come to the cycle `now`, asks for what
  /// `demand` counts and finds `l2`. `times` null: fixed times.
  CtaClock(const TimingTable* times, Demand& its_demand, L2View& its_l2, uint32_t its_rank,
           const Cycle& now)
      : table(times),
        demand(its_demand),
        l2(its_l2),
        rank(its_rank),
        memory(its_demand, its_rank, now),
        copies(*this),
        tensor_core(*this),
        wgmma(*this),
        tensor_memory(times),
        named_barriers(times) {}
  CtaClock(const CtaClock&) = delete;  // its units keep a reference to it
  CtaClock& operator=(const CtaClock&) = delete;

  /// How much longer a copy takes because the engine has not had its tensor map in this launch, or
  /// was just notified of it.
  [[nodiscard]] Cycle wait_for_map(uint64_t map, Cycle now);
  /// When an mbarrier is initialised.
  [[nodiscard]] Cycle init_mbarrier(Cycle now);
  /// When an arrival of a warp at the cluster's barrier counts.
  [[nodiscard]] Cycle arrive_at_cluster(uint32_t warp, Cycle now);

  const TimingTable* const table;  ///< null: fixed times
  Demand& demand;
  L2View& l2;
  const uint32_t rank;  ///< of the CTA in its cluster
  SmMemory memory;      ///< only with a table
  CopyTimes copies;
  TensorCoreTimes tensor_core;
  WgmmaTimes wgmma;
  TensorMemoryTimes tensor_memory;
  NamedBarrierTimes named_barriers;
};

}  // namespace bw::sim
