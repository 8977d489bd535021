// What happens next in a cluster, by simulated time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/simulator/machine/types.hpp"

namespace bw::sim {

struct Strand;

/// An action of an asynchronous unit at a time: moves data, arrives on barriers, wakes strands.
using Action = std::function<void(Cycle now)>;

struct Event {
  Cycle time = 0;
  std::uint64_t order = 0;       ///< breaks ties; insertion order, perturbed by the seed
  Strand* strand = nullptr;      ///< a strand that becomes ready, or
  std::uint32_t wait_token = 0;  ///< (stale when the strand's token has moved on)
  bool is_timeout = false;       ///< a wait's time limit: no progress by itself
  std::uint32_t action = 0;      ///< index of an action when strand is null
};

/// A binary heap of events, earliest first.
class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Cycle next_time() const { return heap_.empty() ? kNever : heap_.front().time; }
  /// Asynchronous actions still to come.
  [[nodiscard]] std::size_t actions_in_flight() const { return actions_in_flight_; }
  /// Strand events that are not timeouts.
  [[nodiscard]] std::size_t ready_strands() const { return ready_strands_; }

  void push_strand(Cycle time, std::uint64_t order, Strand* strand, std::uint32_t wait_token,
                   bool is_timeout) {
    if (!is_timeout) ++ready_strands_;
    push({time, order, strand, wait_token, is_timeout, 0});
  }

  void push_action(Cycle time, std::uint64_t order, Action action) {
    std::uint32_t slot = 0;
    if (free_slots_.empty()) {
      slot = static_cast<std::uint32_t>(actions_.size());
      actions_.push_back(std::move(action));
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
      actions_[slot] = std::move(action);
    }
    ++actions_in_flight_;
    push({time, order, nullptr, 0, false, slot});
  }

  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    if (event.strand != nullptr && !event.is_timeout) --ready_strands_;
    return event;
  }

  /// The action of a popped event; its slot is free afterwards.
  Action take_action(const Event& event) {
    Action action = std::move(actions_[event.action]);
    actions_[event.action] = nullptr;
    free_slots_.push_back(event.action);
    --actions_in_flight_;
    return action;
  }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  std::vector<Event> heap_;
  std::vector<Action> actions_;
  std::vector<std::uint32_t> free_slots_;
  std::size_t actions_in_flight_ = 0;
  std::size_t ready_strands_ = 0;
};

}  // namespace bw::sim
