/// \file
/// What copies and operations of the tensor core do to shared memory, and when it is known.
#include <string_view>
#include <utility>

#include "common/simulator/diagnosis/races/detector_state.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {

namespace {

constexpr uint32_t kAddressWordBytes = 4;

const char* unit_of(const CopyDescription& copy, const InstructionForm& form) {
  if (form.unit == Unit::async_store) return form.operation_name();
  switch (copy.unit) {
    case CopyUnit::tensor:
      return copy.direction == CopyDirection::load     ? "tensor copy"
             : copy.direction == CopyDirection::reduce ? "tensor reduction"
                                                       : "tensor store";
    case CopyUnit::bulk:
      return copy.direction == CopyDirection::store ? "bulk store" : "bulk copy";
    case CopyUnit::cp_async:
      return form.operation_name();
  }
  return "copy";
}

}  // namespace

void Detector::cp_async_issued(const CopyEvent& event) {
  const Origin& origin = event.origin;
  const uint32_t warp = threads_.warp_of(origin);
  const char* const unit = operation_name(origin);
  auto destination = event.copy.destinations.begin();
  for (const int lane : lanes_of(origin.lanes)) {
    const Threads::Ticket ticket = threads_.next_in_order(warp, lane, kCpAsyncQueue);
    OrderedGroups& groups = state_->cp_async[key_of(warp, static_cast<uint64_t>(lane))];
    groups.chain = ticket.chain;
    groups.last = ticket.clock;
    const Origin own = with_lanes(origin, lane_bit(lane));
    threads_.for_groups(own, [&](LaneMask, const LaneGroup& group) {
      Touch touch =
          agent_touch(own, {ticket.chain, ticket.clock, nullptr}, Proxy::generic, true, unit);
      touch.view = &group.view;
      operate(touch, {&*destination, 1});
    });
    ++destination;
  }
}

void Detector::copy_issued(const CopyEvent& event) {
  const CopyDescription& copy = event.copy;
  if (copy.unit == CopyUnit::cp_async) return cp_async_issued(event);
  const Origin& origin = event.origin;
  const InstructionForm& form = cluster_.kernel().form(*origin.instruction);
  const char* const unit = unit_of(copy, form);
  const bool by_thread = form.unit == Unit::async_store;
  const bool by_group = copy.signals.empty();
  const Proxy proxy = by_thread ? Proxy::generic : Proxy::async;
  CopyAgents agents;
  if (by_group) {
    const uint32_t warp = threads_.warp_of(origin);
    const int lane = lowest_lane(origin.lanes);
    agents.reads = threads_.begin_in_order(origin, kBulkReadQueue);
    const Threads::Ticket writes = threads_.next_in_order(warp, lane, kBulkQueue);
    agents.writes = {writes.chain, writes.clock, agents.reads.start};
    OrderedGroups& groups = state_->bulk[key_of(warp, static_cast<uint64_t>(lane))];
    groups.chain = writes.chain;
    groups.read_chain = agents.reads.chain;
    groups.last = writes.clock;
    // The other lanes of a store that all of them have issued wait for it as for one of their own.
    for (const int other : lanes_of(origin.lanes & ~lane_bit(lane))) {
      const Threads::Ticket own = threads_.next_in_order(warp, other, kBulkQueue);
      OrderedGroups& theirs = state_->bulk[key_of(warp, static_cast<uint64_t>(other))];
      theirs.chain = own.chain;
      theirs.read_chain = threads_.next_in_order(warp, other, kBulkReadQueue).chain;
      theirs.last = own.clock;
      theirs.shared.push_back(
          {own.clock, writes.chain, agents.reads.chain, writes.clock, agents.reads.clock});
    }
  } else {
    agents.writes = agents.reads = threads_.begin(origin);
  }
  // The operations of a reduction are strong, and so are those of a copy that says .relaxed.
  const bool is_relaxed = by_thread ? false : origin.instruction->order == MemoryOrder::relaxed;
  const auto touch = [&](const Agent& agent, bool writes) {
    Touch made = agent_touch(origin, agent, proxy, writes, unit);
    if (!is_relaxed && !(writes && form.memory == Memory::update)) return made;
    Accessor strong = *made.accessor;
    strong.is_strong = true;
    strong.scope = is_relaxed ? origin.instruction->scope : MemoryScope::gpu;
    const View* const view = made.view;
    made = touch_of(strong, origin, agent.clock);
    made.view = view;
    return made;
  };
  operate(touch(agents.reads, false), copy.sources);
  operate(touch(agents.writes, true), copy.destinations);
  for (const CopySignal& signal : copy.signals) {
    use(signal, origin, *agents.reads.start, unit);
    note_arrival(origin, agents.writes, proxy, signal.cta_rank, signal.offset_bytes);
  }
  state_->copies.emplace(copy.id, std::move(agents));
}

void Detector::on_copy(const CopyEvent& event) {
  if (event.stage == CopyEvent::Stage::issued) copy_issued(event);
  if (event.stage == CopyEvent::Stage::landed)
    if (const CopyAgents* const agents = copy(event.copy.id))
      for (const CopySignal& signal : event.copy.signals)
        if (Barrier* const barrier = state_->barrier(signal.cta_rank, signal.offset_bytes))
          barrier->pending.complete(agents->writes);
  notify_parts(EventKind::copy, &Observer::on_copy, event);
  if (event.stage == CopyEvent::Stage::landed) state_->copies.erase(event.copy.id);
}

void Detector::on_tensor_core(const TensorCoreEvent& event) {
  // wgmma is told when the last of its warps has issued it; each warp's part is an OrderEvent.
  if (!event.completes && cluster_.kernel().form(*event.origin.instruction).unit != Unit::wgmma) {
    const Agent agent = threads_.begin_in_order(event.origin, kTcgen05Queue);
    operate(agent_touch(event.origin, agent, Proxy::async, false, operation_name(event.origin)),
            event.read_rows.empty() ? event.reads : event.read_rows);
  }
  notify_parts(EventKind::tensor_core, &Observer::on_tensor_core, event);
}

void Detector::on_tensor_memory(const TensorMemoryEvent& event) {
  // At the level hardware the address is taken as known.
  if (event.operation == TensorMemoryEvent::Operation::alloc && cluster_.at_isa_level()) {
    Touch touch = thread_touch(event.origin, true, operation_name(event.origin));
    // The warp executes one instruction together: it is one write, whatever its lanes did before,
    // and its own lanes may read the word.
    ByteShadow& shadow = shared_[event.origin.cta_rank];
    threads_.for_groups(event.origin, [&](LaneMask lanes, const LaneGroup& group) {
      touch.lanes = lanes;
      touch.view = &group.view;
      shadow.check(
          event.shared_offset_bytes, kAddressWordBytes, touch,
          [&](const Conflict& conflict) { report(conflict, touch, event.origin.cta_rank); });
    });
    touch.lanes = event.origin.lanes;
    shadow.add(event.shared_offset_bytes, kAddressWordBytes, touch);
    threads_.meet(event.origin);
  }
  notify_parts(EventKind::tensor_memory, &Observer::on_tensor_memory, event);
}

}  // namespace bw::sim::races
