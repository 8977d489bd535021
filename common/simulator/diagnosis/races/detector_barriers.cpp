/// \file
/// What mbarriers, named barriers and the cluster's barrier order.
#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/diagnosis/races/detector_state.hpp"

namespace bw::sim::races {

namespace {

constexpr uint32_t kMbarrierBytes = 8;

}  // namespace

void Detector::note_use(const char* unit, Accessor accessor, Touch touch, uint16_t cta_rank,
                        uint32_t offset_bytes) {
  // Arrivals and waits don't race with each other: all are atomic.
  accessor.writes = std::string_view(unit) == kArrivalUnit;
  accessor.is_strong = true;
  accessor.scope = MemoryScope::sys;
  accessor.unit = unit;
  touch.number = accessors_.number(accessor);
  touch.accessor = &accessors_[touch.number];
  shared_[cta_rank].add_latest(offset_bytes, kMbarrierBytes, touch);
}

void Detector::note_use(const char* unit, const Origin& origin, uint16_t cta_rank,
                        uint32_t offset_bytes) {
  Accessor accessor = accessor_of(origin, threads_.warp_of(origin));
  Touch touch;
  touch.clock = threads_.now(origin);
  touch.warp = accessor.agent;
  threads_.for_groups(origin, [&](LaneMask lanes, const LaneGroup& group) {
    touch.lanes = lanes;
    touch.view = &group.view;
    note_use(unit, accessor, touch, cta_rank, offset_bytes);
  });
}

void Detector::note_arrival(const Origin& origin, const Agent& agent, Proxy proxy,
                            uint16_t cta_rank, uint32_t offset_bytes) {
  Accessor accessor = accessor_of(origin, agent.chain);
  accessor.is_async = true;
  accessor.proxy = proxy;
  Touch touch;
  touch.clock = agent.clock;
  touch.view = agent.start.get();
  note_use(kArrivalUnit, accessor, touch, cta_rank, offset_bytes);
}

void Detector::use(Barrier& barrier, const Origin& origin, uint16_t cta_rank,
                   uint32_t offset_bytes) {
  const uint32_t warp = threads_.warp_of(origin);
  if (barrier.ordered.size() <= warp) barrier.ordered.resize(size_t{warp} + 1, false);
  if (barrier.ordered[warp]) return;
  bool all = origin.lanes == cluster_.cta(origin.cta_rank).warps[origin.warp].live;
  threads_.for_groups(origin, [&](LaneMask lanes, const LaneGroup& group) {
    const Touch& init = barrier.init;
    const LaneMask known = group.view.generic.lanes_known(init.warp, init.clock) |
                           group.view.inits.lanes_known(init.warp, init.clock);
    const LaneMask unknown = init.lanes & ~known;
    const bool is_own = init.warp == warp && unknown == lanes && std::has_single_bit(lanes);
    if (unknown == 0 || is_own) return;
    all = false;
    // Production kernels let a .relaxed barrier alone come between the two.
    const bool is_relaxed =
        (unknown & ~group.unordered().relaxed.generic.lanes_known(init.warp, init.clock)) == 0;
    report(Missing::init_order, *init.accessor, init.lanes,
           *thread_touch(with_lanes(origin, lanes), true, kMbarrierUnit).accessor, lanes,
           mbarrier_name(cta_rank, offset_bytes), is_relaxed ? Weight::letter : Weight::fault,
           is_relaxed ? "the barrier between the init and this use is .relaxed" : "",
           is_relaxed ? "execute fence.mbarrier_init.release.cluster after {first}, in its thread, "
                        "and before the barrier"
                      : "");
  });
  barrier.ordered[warp] = all;
}

void Detector::use(const CopySignal& signal, const Origin& origin, const View& start,
                   const char* unit) {
  const Barrier* const barrier = state_->barrier(signal.cta_rank, signal.offset_bytes);
  if (barrier == nullptr) return;
  const Touch& init = barrier->init;
  if (start.inits.knows_lanes(init.warp, init.lanes, init.clock)) return;
  const bool is_known = start.generic.knows_lanes(init.warp, init.lanes, init.clock);
  report(is_known ? Missing::init_fence : Missing::init_order, *init.accessor, init.lanes,
         *thread_touch(origin, true, unit).accessor, origin.lanes,
         mbarrier_name(signal.cta_rank, signal.offset_bytes),
         is_known ? Weight::letter : Weight::fault);
}

void Detector::pass(const Origin& origin, uint16_t cta_rank, uint32_t offset_bytes, int64_t phase) {
  Barrier* const barrier = state_->barrier(cta_rank, offset_bytes);
  if (barrier == nullptr || phase < 0) return;
  const Semantics semantics = semantics_of(origin, MemoryOrder::acquire, MemoryScope::cta);
  barrier->done[static_cast<size_t>(phase & 1)].acquire(threads_, origin, semantics, tensor_order_);
}

void Detector::on_mbarrier(const MbarrierEvent& event) {
  using Operation = MbarrierEvent::Operation;
  const uint16_t rank = event.cta_rank;
  const uint64_t key = key_of(rank, event.offset_bytes);
  Barrier* const barrier = state_->barrier(rank, event.offset_bytes);
  switch (event.operation) {
    case Operation::init:
    case Operation::invalidate: {
      // To other accesses both are stores.
      Touch touch = thread_touch(event.origin, true, operation_name(event.origin));
      threads_.for_groups(event.origin, [&](LaneMask lanes, const LaneGroup& group) {
        touch.lanes = lanes;
        touch.view = &group.view;
        shared_[rank].check_and_add(
            event.offset_bytes, kMbarrierBytes, touch,
            [&](const Conflict& conflict) { report(conflict, touch, rank); });
      });
      state_->barriers.erase(key);
      if (event.operation == Operation::init) {
        touch.lanes = event.origin.lanes;
        touch.view = nullptr;
        state_->barriers[key].init = touch;
      }
      break;
    }
    case Operation::arrive:
    case Operation::arrive_drop:
      if (barrier == nullptr) break;
      if (event.operation_id == kNoOperation) {
        use(*barrier, event.origin, rank, event.offset_bytes);
        note_use(kArrivalUnit, event.origin, rank, event.offset_bytes);
        barrier->pending.release(threads_, event.origin,
                                 semantics_of(event.origin, MemoryOrder::release, MemoryScope::cta),
                                 tensor_order_);
      } else if (const auto sent = state_->sent.find(event.operation_id);
                 sent != state_->sent.end()) {
        barrier->pending.bring(sent->second);
        state_->sent.erase(sent);
      } else if (const auto commit = state_->agents.find(event.operation_id);
                 commit != state_->agents.end()) {
        barrier->pending.complete(commit->second.agent);
        if (tensor_order_ != nullptr)
          barrier->pending.tensor().merge(tensor_order_->committed(event.operation_id));
        if (--commit->second.signals == 0) state_->agents.erase(commit);
      } else if (const auto arrival = state_->cp_async_arrivals.find(event.operation_id);
                 arrival != state_->cp_async_arrivals.end()) {
        barrier->pending.completed().join(arrival->second.copies);
        barrier->pending.keep_relaxed(arrival->second.rest);
        state_->cp_async_arrivals.erase(arrival);
      }
      break;
    case Operation::test:
      if (barrier == nullptr) break;
      use(*barrier, event.origin, rank, event.offset_bytes);
      note_use(kWaitUnit, event.origin, rank, event.offset_bytes);
      if (event.done) pass(event.origin, rank, event.offset_bytes, event.waited_phase);
      break;
    case Operation::complete:
      if (barrier == nullptr) break;
      std::swap(barrier->done[event.phase & 1], barrier->pending);
      barrier->pending.clear();
      break;
    case Operation::expect_tx:
      if (barrier != nullptr && event.origin.cta_rank == rank)
        use(*barrier, event.origin, rank, event.offset_bytes);
      break;
    case Operation::complete_tx:
    case Operation::increment_pending:
      break;
  }
  notify_parts(EventKind::mbarrier, &Observer::on_mbarrier, event);
}

void Detector::on_barrier(const BarrierEvent& event) {
  if (event.of_cluster)
    on_cluster_barrier(event);
  else
    on_named_barrier(event);
  notify_parts(EventKind::barrier, &Observer::on_barrier, event);
}

void Detector::on_cluster_barrier(const BarrierEvent& event) {
  State& state = *state_;
  if (!event.completes) {
    Semantics semantics = semantics_of(event.origin, MemoryOrder::release, MemoryScope::cluster);
    semantics.scope = MemoryScope::cluster;
    state.cluster_pending.release(threads_, event.origin, semantics, tensor_order_);
    return;
  }
  // Threads that have exited count as arrived: that they are through is known, and no more.
  for (Cta& cta : cluster_.ctas())
    for (const Warp& warp : cta.warps) {
      if (warp.live == kAllLanes) continue;
      View exited;
      threads_.release(
          {nullptr, static_cast<uint16_t>(cta.rank), static_cast<uint16_t>(warp.index), ~warp.live},
          exited);
      state.cluster_pending.keep_relaxed(exited);
    }
  std::swap(state.cluster_done, state.cluster_pending);
  state.cluster_pending.clear();
}

void Detector::on_named_barrier(const BarrierEvent& event) {
  const uint16_t rank = event.origin.cta_rank;
  NamedBarrierState& barrier = state_->named_barriers[key_of(rank, event.id)];
  if (!event.completes) {
    barrier.pending.release(threads_, event.origin, {MemoryOrder::release, MemoryScope::cta},
                            tensor_order_);
    check_phase(barrier, event);
    barrier.arrivals.push_back(event.origin);
    if (event.waits) barrier.waiters.push_back(event.origin);
    return;
  }
  // Whoever waits learns that the phase is complete, and hands that on with all else.
  barrier.complete = threads_.next_in_order(rank, static_cast<int>(event.id), kNamedBarrierQueue);
  View& all = barrier.pending.of_cta(rank);
  all.generic.learn_chain(barrier.complete.chain, barrier.complete.clock);
  for (const Origin& waiter : barrier.waiters) {
    threads_.replace(waiter, all);
    if (tensor_order_ != nullptr) tensor_order_->acquired(waiter, barrier.pending.tensor());
  }
  barrier.pending.clear();
  barrier.waiters.clear();
  std::swap(barrier.previous, barrier.arrivals);
  barrier.arrivals.clear();
}

void Detector::check_phase(const NamedBarrierState& barrier, const BarrierEvent& event) {
  if (barrier.complete.clock == 0) return;
  LaneMask unknowing = 0;
  threads_.for_groups(event.origin, [&](LaneMask lanes, const LaneGroup& group) {
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
    Accessor accessor = accessor_of(origin, threads_.warp_of(origin));
    accessor.writes = true;
    accessor.unit = kArrivalUnit;
    return accessor;
  };
  report(Missing::barrier_phase, side(earlier), earlier.lanes, side(event.origin), unknowing,
         fmt::format("barrier {}, phases {} and {}", event.id, event.phase - 1, event.phase));
}

}  // namespace bw::sim::races
