#include "common/simulator/units/copies/async_groups.hpp"

#include <algorithm>
#include <utility>

namespace bw::sim {

AsyncGroups::Thread& AsyncGroups::thread_state(uint32_t thread) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  return threads_[thread];
}

AsyncGroups::Ticket AsyncGroups::begin(uint32_t thread, const Instruction* source) {
  Thread& state = thread_state(thread);
  if (source != nullptr) {
    state.source = source;
    state.source_group = state.first_group + state.groups.size() - 1;
  }
  Group& open = state.groups.back();
  ++open.reading;
  ++open.pending;
  ++state.incomplete;
  cta_.cluster->note_progress();
  return {thread, state.first_group + state.groups.size() - 1, state.next_operation++};
}

void AsyncGroups::commit(uint32_t thread) {
  Thread& state = thread_state(thread);
  state.groups.emplace_back();
  while (state.groups.size() > 1 && state.groups.front().pending == 0) {
    state.groups.pop_front();
    ++state.first_group;
  }
}

void AsyncGroups::finish(const Ticket& ticket, Stage stage, Cycle now) {
  Thread& state = threads_[ticket.thread];
  Group& group = state.groups[ticket.group - state.first_group];
  cta_.cluster->note_progress();
  if (stage == Stage::read) {
    --group.reading;
  } else {
    --group.pending;
    --state.incomplete;
    while (state.groups.size() > 1 && state.groups.front().pending == 0) {
      state.groups.pop_front();
      ++state.first_group;
    }
    std::vector<Action> ready;
    std::erase_if(state.watchers, [&](Watcher& watcher) {
      if (ticket.operation >= watcher.before_operation || --watcher.remaining > 0) return false;
      ready.push_back(std::move(watcher.action));
      return true;
    });
    for (const Action& action : ready) action(now);
  }
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (!is_done(waiter)) return false;
    cta_.cluster->wake(*waiter.strand, now);
    return true;
  });
}

bool AsyncGroups::is_done(uint32_t thread, uint32_t allowed, Stage stage) const {
  if (thread >= threads_.size()) return true;
  const Thread& state = threads_[thread];
  const size_t committed = state.groups.size() - 1;
  // Groups complete in the order in which they were committed, so every older one counts.
  for (size_t g = 0; g + allowed < committed; ++g)
    if ((stage == Stage::read ? state.groups[g].reading : state.groups[g].pending) != 0)
      return false;
  return true;
}

bool AsyncGroups::is_done(const Waiter& waiter) const {
  for (const int lane : lanes_of(waiter.lanes))
    if (!is_done(waiter.strand->thread_index(lane), waiter.allowed, waiter.stage)) return false;
  return true;
}

Flow AsyncGroups::wait(Strand& strand, LaneMask lanes, uint32_t allowed, Stage stage) {
  const Waiter waiter{&strand, lanes, allowed, stage};
  if (is_done(waiter)) {
    note_waited(waiter);
    return Flow::next;
  }
  waiters_.push_back(waiter);
  return strand.block(kind_, allowed, static_cast<uint64_t>(stage));
}

void AsyncGroups::note_waited(const Waiter& waiter) {
  for (const int lane : lanes_of(waiter.lanes)) {
    const uint32_t thread = waiter.strand->thread_index(lane);
    if (thread >= threads_.size()) continue;
    Thread& state = threads_[thread];
    const uint64_t committed = state.first_group + state.groups.size() - 1;
    if (committed > waiter.allowed)
      state.waited_groups = std::max(state.waited_groups, committed - waiter.allowed);
  }
}

const Instruction* AsyncGroups::not_waited_for(uint32_t thread) const {
  if (thread >= threads_.size()) return nullptr;
  const Thread& state = threads_[thread];
  return state.source_group < state.waited_groups ? nullptr : state.source;
}

void AsyncGroups::when_complete(uint32_t thread, Cycle now, Action action) {
  Thread& state = thread_state(thread);
  if (state.incomplete == 0) {
    action(now);
    return;
  }
  state.watchers.push_back({state.next_operation, state.incomplete, std::move(action)});
}

void notify_group_commit(const Strand& strand, const Instruction& instruction,
                         GroupEvent::Unit unit) {
  if (!strand.cluster->observed(EventKind::group)) return;
  GroupEvent event;
  event.unit = unit;
  event.origin = strand.origin(instruction);
  event.cycle = strand.time;
  strand.cluster->notify(&Observer::on_group, event);
}

Flow notify_group_wait(const Strand& strand, const Instruction& instruction, GroupEvent::Unit unit,
                       uint32_t allowed, AsyncGroups::Stage stage, Flow flow) {
  if (flow != Flow::next || !strand.cluster->observed(EventKind::group)) return flow;
  GroupEvent event;
  event.unit = unit;
  event.waits = true;
  event.origin = strand.origin(instruction);
  event.cycle = strand.time;
  event.allowed = allowed;
  event.read_only = stage == AsyncGroups::Stage::read;
  strand.cluster->notify(&Observer::on_group, event);
  return flow;
}

}  // namespace bw::sim
