#include "common/simulator/diagnosis/races/agent_clocks.hpp"

#include <algorithm>

namespace bw::sim::races {
namespace {

bool is_at_most(const std::vector<Clock>& some, const std::vector<Clock>& others) {
  const size_t common = std::min(some.size(), others.size());
  for (size_t i = 0; i < common; ++i)
    if (some[i] > others[i]) return false;
  return std::all_of(some.begin() + static_cast<std::ptrdiff_t>(common), some.end(),
                     [](Clock clock) { return clock == 0; });
}

void raise_to(std::vector<Clock>& some, const std::vector<Clock>& others) {
  if (others.size() > some.size()) some.resize(others.size(), 0);
  for (size_t i = 0; i < others.size(); ++i) some[i] = std::max(some[i], others[i]);
}

}  // namespace

bool AgentClocks::holds_chains(const AgentClocks& other) const {
  return is_at_most(other.chains_, chains_);
}

bool AgentClocks::holds(const AgentClocks& other) const {
  if (!holds_chains(other)) return false;
  for (uint32_t warp = 0; warp < other.warps_.size(); ++warp)
    if (other.warps_[warp] != 0 && !knows_lanes(warp, kAllLanes, other.warps_[warp])) return false;
  return std::all_of(other.lanes_.begin(), other.lanes_.end(), [&](const LaneClock& entry) {
    return knows_lanes(entry.warp, entry.lanes, entry.clock);
  });
}

void AgentClocks::raise(uint32_t warp, LaneMask lanes, Clock clock) {
  for (size_t i = 0; i < lanes_.size();) {
    LaneClock& entry = lanes_[i];
    if (entry.warp == warp && (entry.lanes & lanes) != 0) {
      if (entry.clock >= clock) {
        lanes &= ~entry.lanes;
      } else if ((entry.lanes &= ~lanes) == 0) {
        entry = lanes_.back();
        lanes_.pop_back();
        continue;
      }
    }
    ++i;
  }
  if (lanes == 0) return;
  for (LaneClock& entry : lanes_)
    if (entry.warp == warp && entry.clock == clock) {
      entry.lanes |= lanes;
      return;
    }
  lanes_.push_back({static_cast<uint16_t>(warp), lanes, clock});
}

void AgentClocks::settle(uint32_t warp) {
  LaneMask covered = 0;
  Clock least = ~Clock{0};
  for (const LaneClock& entry : lanes_)
    if (entry.warp == warp) {
      covered |= entry.lanes;
      least = std::min(least, entry.clock);
    }
  if (covered == kAllLanes) warps_[warp] = std::max(warps_[warp], least);
  std::erase_if(lanes_, [&](const LaneClock& entry) {
    return entry.warp == warp && entry.clock <= warps_[warp];
  });
}

void AgentClocks::learn_lanes(uint32_t warp, LaneMask lanes, Clock clock) {
  if (warp >= warps_.size()) warps_.resize(size_t{warp} + 1, 0);
  if (warps_[warp] >= clock || lanes == 0) return;
  if (lanes == kAllLanes) {
    warps_[warp] = clock;
  } else {
    raise(warp, lanes, clock);
  }
  settle(warp);
}

void AgentClocks::learn_chain(uint32_t chain, Clock clock) {
  if (chain >= chains_.size()) chains_.resize(size_t{chain} + 1, 0);
  chains_[chain] = std::max(chains_[chain], clock);
}

void AgentClocks::join(const AgentClocks& other) {
  raise_to(warps_, other.warps_);
  if (!lanes_.empty())
    std::erase_if(lanes_,
                  [&](const LaneClock& entry) { return entry.clock <= warps_[entry.warp]; });
  for (const LaneClock& entry : other.lanes_) {
    if (entry.clock <= warps_[entry.warp]) continue;
    raise(entry.warp, entry.lanes, entry.clock);
    settle(entry.warp);
  }
  join_chains(other);
}

void AgentClocks::join_chains(const AgentClocks& other) { raise_to(chains_, other.chains_); }

SharedClocks joined(const SharedClocks& a, const SharedClocks& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr || b->holds(*a)) return b;
  if (a->holds(*b)) return a;
  SharedClocks both = SharedClocks::make(*a);
  both.change().join(*b);
  return both;
}

}  // namespace bw::sim::races
