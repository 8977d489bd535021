#include "common/simulator/diagnosis/races/stream_order.hpp"

#include <utility>

namespace bw::sim::races {

StreamOrder::State& StreamOrder::state(const Stream& stream) {
  const auto [found, is_new] = streams_.try_emplace(stream.handle);
  if (is_new) {
    found->second.chain = next_chain_++;
    found->second.is_legacy = stream.is_legacy;
    found->second.blocks = stream.blocks;
  }
  return found->second;
}

void StreamOrder::join_others(State& state) {
  state.done.join(host_);
  if (!state.is_legacy && !state.blocks) return;
  if (state.is_legacy) state.done.join(ended_streams_);
  for (const auto& [handle, other] : streams_)
    if (state.is_legacy ? other.blocks : other.is_legacy) state.done.join(other.done);
}

StreamOperation StreamOrder::begin(const Stream& stream) {
  State& own = state(stream);
  VectorClock early = own.done_before;
  early.join(host_);
  own.done_before = own.done;
  join_others(own);
  StreamOperation operation{own.chain, ++own.count, own.done, std::move(early)};
  own.done.learn_chain(own.chain, own.count);
  ++unknown_to_host_;
  return operation;
}

void StreamOrder::record(const void* event, const Stream& stream) {
  State& own = state(stream);
  join_others(own);
  events_[event] = own.done;
}

void StreamOrder::wait(const Stream& stream, const void* event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  State& own = state(stream);
  own.done.join(found->second);
  own.done_before.join(found->second);
}

void StreamOrder::host_waits_for(const Stream& stream) {
  State& own = state(stream);
  join_others(own);
  host_.join(own.done);
}

void StreamOrder::host_waits_for_event(const void* event) {
  const auto found = events_.find(event);
  if (found != events_.end()) host_.join(found->second);
}

void StreamOrder::host_waits_for_all() {
  for (const auto& [handle, stream] : streams_) host_.join(stream.done);
  unknown_to_host_ = 0;
}

void StreamOrder::forget_stream(const void* handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return;
  if (found->second.blocks) ended_streams_.join(found->second.done);
  streams_.erase(found);
}

}  // namespace bw::sim::races
