#include "common/simulator/diagnosis/races/named_barriers.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace bw::sim::races {

void NamedBarrierRaces::on_barrier(const BarrierEvent& event) {
  if (event.of_cluster) return;
  constexpr uint32_t kMostBarriers = 16;
  Barrier& barrier = barriers_[event.origin.cta_rank * kMostBarriers + event.id];
  if (event.completes)
    complete(barrier, event, event.origin.cta_rank);
  else
    arrive(barrier, event);
}

void NamedBarrierRaces::arrive(Barrier& barrier, const BarrierEvent& event) {
  barrier.arrivals.push_back(event.origin);
  if (event.waits) barrier.waiters.push_back(event.origin);
  if (barrier.complete.clock == 0) return;
  LaneMask unknowing = 0;
  detector_.threads().for_groups(event.origin, [&](LaneMask lanes, const LaneGroup& group) {
    if (!group.view.generic.knows_chain(barrier.complete.chain, barrier.complete.clock))
      unknowing |= lanes;
  });
  if (unknowing == 0) return;
  // Another warp's arrival says more than this warp's own.
  const auto other =
      std::find_if(barrier.previous.begin(), barrier.previous.end(),
                   [&](const Origin& origin) { return origin.warp != event.origin.warp; });
  const Origin& earlier = other == barrier.previous.end() ? barrier.previous.front() : *other;
  const auto side = [&](const Origin& origin) {
    Accessor accessor;
    accessor.instruction = origin.instruction;
    accessor.agent = detector_.threads().warp_of(origin);
    accessor.cta_rank = origin.cta_rank;
    accessor.warp = origin.warp;
    accessor.writes = true;
    accessor.unit = "arrival";
    return accessor;
  };
  detector_.report(
      Missing::barrier_phase, side(earlier), earlier.lanes, side(event.origin), unknowing,
      fmt::format("barrier {}, phases {} and {}", event.id, event.phase - 1, event.phase));
}

void NamedBarrierRaces::complete(Barrier& barrier, const BarrierEvent& event, uint16_t cta_rank) {
  barrier.complete =
      detector_.threads().next_in_order(cta_rank, static_cast<int>(event.id), kNamedBarrierQueue);
  View view;
  view.generic.learn_chain(barrier.complete.chain, barrier.complete.clock);
  for (const Origin& waiter : barrier.waiters) detector_.threads().acquire(waiter, view);
  barrier.waiters.clear();
  barrier.previous = std::move(barrier.arrivals);
  barrier.arrivals.clear();
}

}  // namespace bw::sim::races
