/// \file
/// What groups, fences and the other instructions that order threads hand on.
#include <bit>
#include <string_view>
#include <utility>

#include "common/simulator/diagnosis/races/detector_state.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/copies/bulk_groups.hpp"
#include "common/simulator/units/synchronisation/fence.hpp"

namespace bw::sim::races {

namespace {

constexpr uint32_t kResponseBytes = 16;

}  // namespace

void Detector::on_group(const GroupEvent& event) {
  State& state = *state_;
  const Origin& origin = event.origin;
  const uint32_t warp = threads_.warp_of(origin);
  const bool for_async_proxy = event.unit == GroupEvent::Unit::bulk && event.waits &&
                               waits_for_async_proxy(*origin.instruction);
  const auto learn = [&](LaneMask lanes, uint32_t chain, Clock clock) {
    if (clock == 0) return;
    threads_.change_groups(with_lanes(origin, lanes), [&](LaneGroup& group) {
      if (for_async_proxy) {
        group.view.copied.learn_chain(chain, clock);
        group.view.performed.learn_chain(chain, clock);
      } else {
        group.view.generic.learn_chain(chain, clock);
      }
    });
  };
  switch (event.unit) {
    case GroupEvent::Unit::bulk:
    case GroupEvent::Unit::cp_async: {
      const bool is_bulk = event.unit == GroupEvent::Unit::bulk;
      auto& threads = is_bulk ? state.bulk : state.cp_async;
      const bool commits = !event.waits || cluster_.kernel().form(*origin.instruction).ordering ==
                                               Ordering::wait_all;
      for (const int lane : lanes_of(origin.lanes)) {
        const auto found = threads.find(key_of(warp, static_cast<uint64_t>(lane)));
        if (found == threads.end()) continue;
        OrderedGroups& groups = found->second;
        if (commits) groups.commit();
        if (!event.waits) continue;
        const Clock completed = groups.completed(event.allowed);
        if (is_bulk) learn(lane_bit(lane), groups.read_chain, completed);
        if (!event.read_only) learn(lane_bit(lane), groups.chain, completed);
        groups.for_shared(completed, [&](const OrderedGroups::Shared& shared) {
          learn(lane_bit(lane), shared.read_chain, shared.read_clock);
          if (!event.read_only) learn(lane_bit(lane), shared.chain, shared.clock);
        });
      }
      break;
    }
    case GroupEvent::Unit::wgmma:
      if (!event.waits)
        state.wgmma[warp].commit();
      else
        learn(origin.lanes, state.wgmma[warp].chain, state.wgmma[warp].completed(event.allowed));
      break;
    case GroupEvent::Unit::tensor_core: {
      const Agent agent = threads_.begin_in_order(origin, kTcgen05Queue);
      for (const int rank : lanes_of(event.targets)) {
        use(CopySignal{static_cast<uint16_t>(rank), event.offset_bytes, 0}, origin, *agent.start,
            operation_name(origin));
        note_arrival(origin, agent, Proxy::async, static_cast<uint16_t>(rank), event.offset_bytes);
      }
      if (event.id != kNoOperation)
        state.agents.emplace(event.id, Signalling{agent, std::popcount(event.targets)});
      break;
    }
  }
  notify_parts(EventKind::group, &Observer::on_group, event);
}

void Detector::on_fence(const FenceEvent& event) {
  const Origin& origin = event.origin;
  switch (event.kind) {
    case FenceKind::thread: {
      const Semantics semantics = semantics_of(origin, MemoryOrder::acq_rel, MemoryScope::cta);
      threads_.fence(origin, semantics.order, semantics.scope);
      break;
    }
    case FenceKind::mbarrier_init:
      threads_.fence_mbarrier_init(origin);
      break;
    case FenceKind::proxy_async: {
      const ptx::Instruction& source = cluster_.kernel().source(*origin.instruction);
      const uint8_t spaces = source.match->accessed_spaces();
      threads_.fence_proxy_async(origin, spaces == kAllSpaces     ? ProxyFence::all
                                         : spaces == kGlobalSpace ? ProxyFence::global
                                                                  : ProxyFence::shared);
      break;
    }
    case FenceKind::proxy_async_generic:
      if (fences_reads_alone(*origin.instruction))
        threads_.fence_proxy_async_reads(origin);
      else
        threads_.fence_proxy_async(origin, ProxyFence::shared);
      break;
    case FenceKind::proxy_alias:
    case FenceKind::proxy_tensormap:
    case FenceKind::tcgen05_before_thread_sync:
    case FenceKind::tcgen05_after_thread_sync:
      break;
  }
  notify_parts(EventKind::fence, &Observer::on_fence, event);
}

void Detector::on_order(const OrderEvent& event) {
  using Operation = OrderEvent::Operation;
  State& state = *state_;
  const Origin& origin = event.origin;
  switch (event.operation) {
    case Operation::aligned:
      return;  // It keeps lanes together, and orders nothing that they do in memory.
    case Operation::warp_sync:
      // elect.sync chooses a lane and promises nothing about memory; the others exchange values or
      // wait, and are taken to order what the lanes did before.
      if (cluster_.kernel().form(*origin.instruction).ordering != Ordering::election)
        threads_.meet(origin);
      break;
    case Operation::mbarrier_send: {
      Barrier* const barrier = state.barrier(event.cta_rank, event.offset_bytes);
      if (barrier != nullptr) {
        use(*barrier, origin, event.cta_rank, event.offset_bytes);
        note_use(kArrivalUnit, origin, event.cta_rank, event.offset_bytes);
      }
      state.sent[event.id].release(threads_, origin,
                                   semantics_of(origin, MemoryOrder::release, MemoryScope::cta),
                                   tensor_order_);
      break;
    }
    case Operation::mbarrier_pass:
      pass(origin, event.cta_rank, event.offset_bytes, static_cast<int64_t>(event.phase));
      break;
    case Operation::cluster_barrier_pass:
      state.cluster_done.acquire(threads_, origin, {MemoryOrder::acquire, MemoryScope::cluster},
                                 tensor_order_);
      break;
    case Operation::cp_async_arrive: {
      // The ISA gives this arrival no release: the system makes it when the copies are complete,
      // and they are what it tells of.
      CopyArrival& arrival = state.cp_async_arrivals[event.id];
      const SharedView rest = threads_.snapshot(origin);
      arrival.rest = *rest;
      state.cp_async_arrivers.insert(threads_.warp_of(origin));
      const auto found = state.cp_async.find(
          key_of(threads_.warp_of(origin), static_cast<uint64_t>(lowest_lane(origin.lanes))));
      if (found == state.cp_async.end()) break;
      const Agent copies{found->second.chain, found->second.last, rest};
      arrival.copies.generic.learn_chain(copies.chain, copies.clock);
      note_arrival(origin, copies, Proxy::generic, event.cta_rank, event.offset_bytes);
      break;
    }
    case Operation::launch_control_request: {
      const Agent agent = threads_.begin(origin);
      const char* const unit = operation_name(origin);
      const Touch touch = agent_touch(origin, agent, Proxy::async, true, unit);
      for (const int rank : lanes_of(event.ranks)) {
        const auto target = static_cast<uint16_t>(rank);
        const MemoryRange response{AddressSpace::shared_cta, target, event.address, kResponseBytes};
        operate(touch, {&response, 1});
        use(CopySignal{target, event.offset_bytes, kResponseBytes}, origin, *agent.start, unit);
        note_arrival(origin, agent, Proxy::async, target, event.offset_bytes);
      }
      state.agents.emplace(event.id, Signalling{agent, std::popcount(event.ranks)});
      break;
    }
    case Operation::launch_control_response: {
      Barrier* const barrier = state.barrier(event.cta_rank, event.offset_bytes);
      const auto agent = state.agents.find(event.id);
      if (agent == state.agents.end()) break;
      if (barrier != nullptr) barrier->pending.complete(agent->second.agent);
      if (--agent->second.signals == 0) state.agents.erase(agent);
      break;
    }
    case Operation::wgmma_issue: {
      // An MMA is one operation of its warpgroup, whichever warp waits for it.
      constexpr uint32_t kWarpgroupWarps = 4;
      const uint32_t first = threads_.warp_of(origin) - origin.warp % kWarpgroupWarps;
      OrderedGroups& groups = state.wgmma[threads_.warp_of(origin)];
      groups.chain = threads_.queue_of(first, 0, kWgmmaQueue);
      const Agent agent{groups.chain, ++groups.last, threads_.snapshot(origin)};
      operate(agent_touch(origin, agent, Proxy::async, false, operation_name(origin)), event.reads);
      break;
    }
    case Operation::grid_wait:
      threads_.change_groups(origin, [](LaneGroup& group) { group.view.generic.pass_grid_wait(); });
      break;
    case Operation::grid_launch_dependents:
    case Operation::wgmma_fence:
      break;
  }
  notify_parts(EventKind::order, &Observer::on_order, event);
}

}  // namespace bw::sim::races
