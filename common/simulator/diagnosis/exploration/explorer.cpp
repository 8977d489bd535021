#include "common/simulator/diagnosis/exploration/explorer.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_set>
#include <utility>

namespace bw::sim::exploration {
namespace {

struct State {
  std::vector<bool> done;
  std::vector<uint32_t> missing;  ///< of each step: predecessors that are not done
  std::vector<uint32_t> open;     ///< steps whose predecessors are done
  std::vector<BarrierState> barriers;
  uint64_t hash[2] = {};
};

struct Key {
  uint64_t words[2];
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const { return key.words[0]; }
};

class Search {
 public:
  Search(const SyncProgram& program, uint64_t most_states, bool reduce)
      : program_(program), most_states_(most_states), reduce_(reduce) {
    const size_t count = program.steps.size();
    followers_.resize(count);
    of_object_.resize(program.objects.size());
    std::mt19937_64 random(count);
    start_.done.assign(count, false);
    start_.missing.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      const Step& step = program.steps[i];
      for (const uint32_t before : step.after) followers_[before].push_back(i);
      start_.missing[i] = static_cast<uint32_t>(step.after.size());
      if (step.after.empty()) start_.open.push_back(i);
      if (step.action != Action::join) of_object_[step.object].push_back(i);
      marks_.push_back({random(), random()});
      announced_by_.push_back(announcement_of(i));
    }
    for (const std::vector<uint32_t>& steps : of_object_) {
      Kind kind;
      for (const uint32_t index : steps) {
        const Step& step = program.steps[index];
        kind.counts_bytes = kind.counts_bytes || step.action == Action::complete_tx;
        kind.is_plain =
            kind.is_plain && step.action != Action::arrive_drop && step.action != Action::increment;
        kind.arrives_singly =
            kind.arrives_singly && (step.action != Action::arrive || step.amount == 1);
      }
      kinds_.push_back(kind);
    }
    for (const SyncObject& object : program.objects)
      start_.barriers.push_back({!object.is_mbarrier, 0, object.expected, object.expected, 0});
  }

  Exploration run() {
    std::vector<Frame> stack;
    stack.push_back({start_, 0, {}});
    if (!expand(stack.back())) return result_;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.choices.empty()) {
        result_.order.resize(top.order_length);
        stack.pop_back();
        continue;
      }
      const uint32_t step = top.choices.back();
      top.choices.pop_back();
      result_.order.resize(top.order_length);
      // The last choice takes the frame itself: a path without choices needs one state.
      Frame next;
      if (top.choices.empty()) {
        next = std::move(top);
        stack.pop_back();
      } else {
        next = top;
      }
      if (!advance(next, step)) return result_;
      if (!expand(next)) return result_;
      if (!next.choices.empty()) stack.push_back(std::move(next));
    }
    result_.order.clear();
    return result_;
  }

 private:
  struct Frame {
    State state;
    size_t order_length = 0;
    std::vector<uint32_t> choices;
  };

  bool ends(Verdict verdict, std::vector<uint32_t> steps) {
    result_.verdict = verdict;
    result_.waiting = std::move(steps);
    return false;
  }

  [[nodiscard]] bool is_enabled(const State& state, uint32_t index) const {
    const Step& step = program_.steps[index];
    if (step.action != Action::wait) return true;
    const BarrierState& barrier = state.barriers[step.object];
    return !barrier.ready || ((barrier.phase - step.phase) & 1) != 0;
  }

  /// Does a step; false where that goes wrong.
  bool advance(Frame& frame, uint32_t index) {
    result_.order.push_back(index);
    frame.order_length = result_.order.size();
    State& state = frame.state;
    state.done[index] = true;
    std::erase(state.open, index);
    for (const uint32_t follower : followers_[index])
      if (--state.missing[follower] == 0) state.open.push_back(follower);
    for (int i = 0; i < 2; ++i) state.hash[i] ^= marks_[index].words[i];
    const Step& step = program_.steps[index];
    if (step.action == Action::join) return true;
    BarrierState& barrier = state.barriers[step.object];
    if (!barrier.ready && step.action != Action::init) return ends(Verdict::not_ready, {index});
    const bool completes = apply(step, barrier);
    if (barrier.pending < 0) return ends(Verdict::too_many, {index});
    if (!completes || !program_.objects[step.object].is_mbarrier) return true;
    // A thread that still waits for the previous phase can no longer observe its completion.
    for (const uint32_t other : of_object_[step.object])
      if (!state.done[other] && program_.steps[other].action == Action::wait &&
          program_.steps[other].phase + 1 < barrier.phase)
        return ends(Verdict::overrun, {other});
    return true;
  }

  /// Finds what can be done next; false where the search is at an end.
  bool expand(Frame& frame) {
    const State& state = frame.state;
    if (!visited_.insert(key_of(state)).second) {
      frame.choices.clear();
      return true;
    }
    if (++result_.states > most_states_) return ends(Verdict::bound, {});
    std::vector<uint32_t> enabled;
    for (const uint32_t index : state.open)
      if (is_enabled(state, index)) enabled.push_back(index);
    if (enabled.empty()) {
      frame.choices.clear();
      return state.open.empty() || ends(Verdict::deadlock, state.open);
    }
    frame.choices = enabled;
    if (!reduce_) return true;
    for (const uint32_t index : enabled) {
      if (!stands_alone(state, index)) continue;
      frame.choices = {index};
      break;
    }
    return true;
  }

  [[nodiscard]] Key key_of(const State& state) const {
    Key key{{state.hash[0], state.hash[1]}};
    for (size_t i = 0; i < state.barriers.size(); ++i) {
      const BarrierState& barrier = state.barriers[i];
      for (const int64_t part : {barrier.phase, barrier.pending, barrier.tx_bytes})
        for (size_t word = 0; word < 2; ++word) {
          uint64_t& value = key.words[word];
          value = (value ^ (static_cast<uint64_t>(part) + i)) *
                  (word == 0 ? 0x9e3779b97f4a7c15ull : 0xd6e8feb86659fd93ull);
          value ^= value >> 29;
        }
    }
    return key;
  }

  /// What of an object can be done before a step is.
  struct Others {
    int64_t arrivals = 0;
    int64_t tx_bytes = 0;  ///< announced less completed
    bool waits_for_previous = false;
    bool loose_expect = false;
    bool other = false;  ///< init, arrive_drop, increment
    bool any = false;
  };

  /// Whether nothing that can happen without the step takes part in what it does: then the orders
  /// in which it comes first represent all.
  [[nodiscard]] bool stands_alone(const State& state, uint32_t index) {
    const Step& step = program_.steps[index];
    if (step.action == Action::join) return true;
    const BarrierState& barrier = state.barriers[step.object];
    const bool single_phase = !program_.objects[step.object].is_mbarrier;
    if (step.action == Action::wait && single_phase) return true;  // complete, it stays so
    const Others others = others_of(state, index);
    if (!others.any) return true;
    if (step.action == Action::init || step.action == Action::increment ||
        step.action == Action::arrive_drop || !barrier.ready || others.other)
      return false;
    int64_t own = step.action == Action::arrive ? step.amount : 0;
    if (step.paired)  // the arrive of its instruction counts with it
      for (const uint32_t follower : followers_[index])
        if (program_.steps[follower].action == Action::arrive &&
            program_.steps[follower].object == step.object)
          own = program_.steps[follower].amount;
    if (others.arrivals + own < barrier.pending) return true;  // no phase can end
    if (step.action == Action::wait || others.arrivals + own > barrier.pending) return false;
    if (step.action == Action::expect_tx && !step.paired) return false;
    // The phase may end, but only when all of them are done, in whatever order.
    const int64_t own_bytes = step.action == Action::expect_tx     ? step.amount
                              : step.action == Action::complete_tx ? -step.amount
                                                                   : 0;
    return !others.waits_for_previous && !others.loose_expect &&
           barrier.tx_bytes + others.tx_bytes + own_bytes >= 0 &&
           others.arrivals + own == barrier.pending;
  }

  /// The expect_tx of an arrive.expect_tx, or kNone.
  [[nodiscard]] uint32_t announcement_of(uint32_t index) const {
    const Step& step = program_.steps[index];
    if (step.action != Action::arrive) return kNone;
    for (const uint32_t before : step.after)
      if (program_.steps[before].paired && program_.steps[before].object == step.object)
        return before;
    return kNone;
  }

  /// The least number of bytes that any `arrivals` arrivals announce. A phase that counts bytes
  /// ends
  /// only when these have arrived.
  [[nodiscard]] int64_t least_announced(const State& state, uint32_t object, int64_t arrivals) {
    const Kind& kind = kinds_[object];
    if (!kind.counts_bytes || !kind.arrives_singly) return -state.barriers[object].tx_bytes;
    bytes_.clear();
    for (const uint32_t index : of_object_[object]) {
      if (state.done[index] || program_.steps[index].action != Action::arrive) continue;
      const uint32_t announcement = announced_by_[index];
      const bool counts = announcement != kNone && !state.done[announcement];
      bytes_.push_back(counts ? program_.steps[announcement].amount : 0);
    }
    std::sort(bytes_.begin(), bytes_.end());
    const auto count = std::min(bytes_.size(), static_cast<size_t>(arrivals));
    return std::accumulate(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count),
                           int64_t{0});
  }

  /// The steps on the object of `index` that can be done before it, at most: barriers are taken to
  /// complete their phases as soon as enough arrivals and bytes can have come, and waits to pass
  /// for good.
  [[nodiscard]] Others others_of(const State& state, uint32_t index) {
    const uint32_t object = program_.steps[index].object;
    // Bytes that are announced hold the phase until they come (what is counted below must agree).
    const bool holds_phase = program_.steps[index].action == Action::complete_tx;
    reached_.assign(state.done.begin(), state.done.end());
    missing_ = state.missing;
    arrived_.assign(state.barriers.size(), 0);
    blocked_.assign(state.barriers.size(), {});
    work_ = state.open;
    Others others;
    completed_.assign(state.barriers.size(), 0);
    const auto passes = [&](const Step& step) {
      const BarrierState& barrier = state.barriers[step.object];
      if (!barrier.ready || barrier.phase > step.phase) return true;
      if (holds_phase && step.object == object) return false;
      if (!kinds_[step.object].is_plain) return true;
      const int64_t arrivals =
          barrier.pending + (step.phase - barrier.phase) * std::max<int64_t>(barrier.expected, 0);
      return arrived_[step.object] >= arrivals &&
             barrier.tx_bytes + least_announced(state, step.object, arrivals) <=
                 completed_[step.object];
    };
    while (!work_.empty()) {
      const uint32_t current = work_.back();
      work_.pop_back();
      if (current == index || reached_[current]) continue;
      const Step& step = program_.steps[current];
      if (step.action == Action::wait && !passes(step)) {
        blocked_[step.object].push_back(current);
        continue;
      }
      reached_[current] = true;
      for (const uint32_t follower : followers_[current])
        if (--missing_[follower] == 0) work_.push_back(follower);
      if (step.action == Action::arrive || step.action == Action::arrive_drop) {
        arrived_[step.object] += step.amount;
      }
      if (step.action == Action::complete_tx) completed_[step.object] += step.amount;
      if (step.action != Action::join && step.action != Action::wait) {
        for (const uint32_t waiter : blocked_[step.object]) work_.push_back(waiter);
        blocked_[step.object].clear();
      }
      if (step.action == Action::join || step.object != object) continue;
      others.any = true;
      switch (step.action) {
        case Action::arrive:
          others.arrivals += step.amount;
          break;
        case Action::expect_tx:
          others.tx_bytes += step.amount;
          others.loose_expect = others.loose_expect || !step.paired;
          break;
        case Action::complete_tx:
          others.tx_bytes -= step.amount;
          break;
        case Action::wait:
          others.waits_for_previous = true;
          break;
        default:
          others.other = true;
      }
    }
    return others;
  }

  static constexpr uint32_t kNone = ~0u;
  /// What happens to an object.
  struct Kind {
    bool counts_bytes = false;
    bool is_plain = true;  ///< the arrivals of a phase stay the same
    bool arrives_singly = true;
  };

  const SyncProgram& program_;
  uint64_t most_states_;
  bool reduce_;
  State start_;
  std::vector<std::vector<uint32_t>> followers_;
  std::vector<std::vector<uint32_t>> of_object_;
  std::vector<Key> marks_;
  std::vector<uint32_t> announced_by_;
  std::vector<Kind> kinds_;
  std::unordered_set<Key, KeyHash> visited_;
  Exploration result_;
  // Of others_of, kept for their storage.
  std::vector<bool> reached_;
  std::vector<uint32_t> missing_;
  std::vector<int64_t> arrived_, completed_, bytes_;
  std::vector<std::vector<uint32_t>> blocked_;
  std::vector<uint32_t> work_;
};

}  // namespace

Exploration explore(const SyncProgram& program, uint64_t most_states, bool reduce) {
  return Search(program, most_states, reduce).run();
}

}  // namespace bw::sim::exploration
