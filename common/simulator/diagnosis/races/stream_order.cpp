#include "common/simulator/diagnosis/races/stream_order.hpp"

#include <algorithm>
#include <utility>

namespace bw::sim::races {

void Known::join(const Known& other) {
  ended.join(other.ended);
  for (const Dependency& dependency : other.later)
    if (std::find(later.begin(), later.end(), dependency) == later.end())
      later.push_back(dependency);
}

void Known::settle() {
  std::erase_if(later, [&](const Dependency& dependency) {
    if (!dependency.on->is_settled) return false;
    ended.join(dependency.on->known(dependency.reached));
    return true;
  });
}

void StreamOperation::settle() {
  if (is_settled) return;
  is_settled = true;
  before_early = std::move(at_start.ended);
  for (const Dependency& dependency : at_start.later)
    before_early.join(dependency.on->known(dependency.reached));
  before = before_early;
  for (const auto& launch : waits_for) {
    before.join(launch->known(Reached::ended));
    if (!does_not_wait.empty() || !launch->is_programmatic) continue;
    does_not_wait = launch->has_waited ? launch->does_not_wait : launch->name;
  }
  // Chains of launches may be long: nothing older is needed any more.
  at_start.later.clear();
  waits_for.clear();
}

VectorClock StreamOperation::known(Reached reached) {
  settle();
  const bool knows_waited = reached == Reached::ended       ? has_waited
                            : reached == Reached::triggered ? triggers_after_wait
                                                            : false;
  VectorClock all = knows_waited ? before : before_early;
  if (reached == Reached::ended) all.learn_chain(chain, clock);
  return all;
}

StreamOrder::State& StreamOrder::state(const Stream& stream) {
  const auto [found, is_new] = streams_.try_emplace(stream.handle);
  if (is_new) {
    found->second.is_legacy = stream.is_legacy;
    found->second.blocks = stream.blocks;
  }
  return found->second;
}

uint32_t StreamOrder::chain_for(State& state, const VectorClock& at_start) {
  for (const uint32_t chain : state.chains)
    if (at_start.knows_chain(chain, chains_[chain])) return chain;
  state.chains.push_back(static_cast<uint32_t>(chains_.size()));
  chains_.push_back(0);
  return state.chains.back();
}

Known StreamOrder::of_others(const State& state) const {
  Known others = host_;
  if (!state.is_legacy && !state.blocks) return others;
  if (state.is_legacy) others.join(ended_streams_);
  for (const auto& [handle, other] : streams_)
    if (&other != &state && (state.is_legacy ? other.blocks : other.is_legacy))
      others.join(other.done);
  return others;
}

std::shared_ptr<StreamOperation> StreamOrder::begin(const Stream& stream, Kind kind) {
  State& own = state(stream);
  own.done.settle();
  Known others = of_others(own);
  others.settle();
  auto operation = std::make_shared<StreamOperation>();
  operation->is_kernel = kind != Kind::host;
  own.done.join(others);
  operation->in_order = own.done.ended;
  if (operation->is_kernel) operation->waits_for = std::move(own.waitable);
  const bool depends_on_events = !operation->waits_for.empty();
  if (kind == Kind::early_kernel && own.last != nullptr && own.last->is_kernel) {
    // It overlaps with a launch alone: copies and fills end before it begins.
    operation->at_start = std::move(others);
    operation->at_start.join(own.told);
    operation->at_start.join({{}, {{own.last, Reached::triggered}}});
    operation->waits_for.push_back(own.last);
  } else {
    operation->at_start = own.done;
  }
  operation->at_start.settle();
  operation->chain = chain_for(own, operation->at_start.ended);
  operation->clock = ++chains_[operation->chain];
  operation->is_programmatic = !operation->waits_for.empty();
  own.done.ended.learn_chain(operation->chain, operation->clock);
  // Launches of other streams are known to have ended if this one waits for them.
  if (depends_on_events) own.done.join({{}, {{operation, Reached::ended}}});
  own.last = operation;
  own.told = {};
  own.waitable.clear();
  ++unknown_to_host_;
  return operation;
}

void StreamOrder::record(const void* event, const Stream& stream) {
  State& own = state(stream);
  own.done.join(of_others(own));
  own.done.settle();
  events_[event] = {own.done, {}};
}

void StreamOrder::record(const void* event, std::shared_ptr<StreamOperation> launch,
                         Reached reached, bool waitable) {
  Event recorded;
  recorded.known.later.push_back({launch, reached});
  if (waitable) recorded.waitable.push_back(std::move(launch));
  events_[event] = std::move(recorded);
}

void StreamOrder::wait(const Stream& stream, const void* event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  State& own = state(stream);
  own.done.join(found->second.known);
  own.told.join(found->second.known);
  for (const auto& launch : found->second.waitable)
    if (std::find(own.waitable.begin(), own.waitable.end(), launch) == own.waitable.end())
      own.waitable.push_back(launch);
}

void StreamOrder::host_waits_for(const Stream& stream) {
  State& own = state(stream);
  own.done.join(of_others(own));
  host_.join(own.done);
  host_.settle();
}

void StreamOrder::host_waits_for_event(const void* event) {
  const auto found = events_.find(event);
  if (found != events_.end()) host_.join(found->second.known);
  host_.settle();
}

void StreamOrder::host_waits_for_all() {
  for (const auto& [handle, stream] : streams_) host_.join(stream.done);
  host_.settle();
  unknown_to_host_ = 0;
}

void StreamOrder::forget_stream(const void* handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return;
  if (found->second.blocks) ended_streams_.join(found->second.done);
  streams_.erase(found);
}

}  // namespace bw::sim::races
