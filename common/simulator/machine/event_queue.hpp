#pragma once
/// \file
/// Pending events of a cluster, by simulated time.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

struct Strand;

/// An action of an asynchronous unit at a time: moves data, arrives on barriers, wakes strands.
using Action = std::function<void(Cycle now)>;

/// When an event happens.
struct EventTime {
  Cycle time = kNever;
  uint64_t order = 0;  ///< breaks ties; insertion order, perturbed by the seed

  // clang-tidy 14 takes the comparison with 0 that this makes for one with a null pointer.
  auto operator<=>(const EventTime&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Something that happens later.
struct Event {
  EventTime at;              ///< when, and in which order
  Strand* strand = nullptr;  ///< a strand that becomes ready, or
  bool is_timeout = false;   ///< (at its wait's time limit: no progress by itself)
  uint32_t action = 0;       ///< index of an action when strand is null

  /// By time, then by order.
  bool operator<(const Event& other) const { return at < other.at; }
  /// By time, then by order.
  bool operator>(const Event& other) const { return at > other.at; }
};

/// A binary heap of events, earliest first; the time limits of waits, most of which are cancelled,
/// are in a separate sorted vector: new ones belong near its end, and there are few.
class EventQueue {
 public:
  /// Whether nothing is left.
  [[nodiscard]] bool empty() const { return heap_.empty() && time_limits_.empty(); }
  /// When the next thing happens.
  [[nodiscard]] Cycle next_time() const {
    const Cycle next = heap_.empty() ? kNever : heap_.front().at.time;
    return time_limits_.empty() ? next : std::min(next, time_limits_.front().at.time);
  }
  /// Asynchronous actions still to come.
  [[nodiscard]] size_t actions_in_flight() const { return actions_in_flight_; }
  /// Strands that will run, those at a time limit not counted.
  [[nodiscard]] size_t ready_strands() const { return ready_strands_; }

  /// Resumes a strand at that time.
  void push_strand(EventTime at, Strand* strand) {
    ++ready_strands_;
    push({at, strand, false, 0});
  }

  /// `strand` runs at the limit of its wait, unless that is cancelled before.
  void push_time_limit(EventTime at, Strand* strand) {
    time_limits_.insert(first_limit_at(at), {at, strand, true, 0});
  }
  /// Cancels a time limit.
  void cancel_time_limit(EventTime at) {
    const auto found = first_limit_at(at);
    if (found != time_limits_.end() && found->at == at) time_limits_.erase(found);
  }

  /// Calls an action at that time.
  void push_action(EventTime at, Action action) {
    uint32_t slot = 0;
    if (free_slots_.empty()) {
      slot = static_cast<uint32_t>(actions_.size());
      actions_.push_back(std::move(action));
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
      actions_[slot] = std::move(action);
    }
    ++actions_in_flight_;
    push({at, nullptr, false, slot});
  }

  /// Pops the next event.
  Event pop() {
    if (!time_limits_.empty() && (heap_.empty() || time_limits_.front() < heap_.front())) {
      const Event limit = time_limits_.front();
      time_limits_.erase(time_limits_.begin());
      return limit;
    }
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Event event = heap_.back();
    heap_.pop_back();
    if (event.strand != nullptr) --ready_strands_;
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
  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  /// The first limit at or after that time.
  [[nodiscard]] std::vector<Event>::iterator first_limit_at(EventTime at) {
    return std::lower_bound(
        time_limits_.begin(), time_limits_.end(), at,
        [](const Event& limit, const EventTime& time) { return limit.at < time; });
  }

  std::vector<Event> heap_;
  std::vector<Event> time_limits_;  ///< ascending
  std::vector<Action> actions_;
  std::vector<uint32_t> free_slots_;
  size_t actions_in_flight_ = 0;
  size_t ready_strands_ = 0;
};

}  // namespace bw::sim
