#include "common/simulator/diagnosis/races/clock.hpp"

namespace bw::sim::races {
namespace {

bool before(const ForeignClock& entry, uint64_t agent) { return entry.agent < agent; }

}  // namespace

Clock VectorClock::foreign(uint64_t agent) const {
  const auto found = std::lower_bound(foreign_.begin(), foreign_.end(), agent, before);
  return found != foreign_.end() && found->agent == agent ? found->clock : 0;
}

void VectorClock::learn_foreign(uint64_t agent, Clock clock) {
  const auto found = std::lower_bound(foreign_.begin(), foreign_.end(), agent, before);
  if (found != foreign_.end() && found->agent == agent)
    found->clock = std::max(found->clock, clock);
  else
    foreign_.insert(found, {agent, clock});
}

void VectorClock::learn_foreign_lanes(uint64_t cluster, uint32_t warp, LaneMask lanes,
                                      Clock clock) {
  if (lanes == kAllLanes) {
    learn_foreign(foreign_warp(cluster, warp, kEveryLane), clock);
    return;
  }
  for (const int lane : lanes_of(lanes))
    learn_foreign(foreign_warp(cluster, warp, static_cast<uint32_t>(lane)), clock);
}

LaneMask VectorClock::foreign_lanes_known(uint64_t cluster, uint32_t warp, Clock clock) const {
  LaneMask known = 0;
  auto entry =
      std::lower_bound(foreign_.begin(), foreign_.end(), foreign_warp(cluster, warp, 0), before);
  for (; entry != foreign_.end(); ++entry) {
    if (entry->agent > foreign_warp(cluster, warp, kEveryLane)) break;
    if (entry->clock < clock) continue;
    if (entry->agent == foreign_warp(cluster, warp, kEveryLane)) return kAllLanes;
    known |= lane_bit(static_cast<int>(entry->agent % (2 * kEveryLane)));
  }
  return known;
}

VectorClock VectorClock::as_foreign(uint64_t cluster) const {
  VectorClock other;
  other.is_past_grid_wait_ = is_past_grid_wait_;
  std::vector<ForeignClock>& out = other.foreign_;
  for (uint32_t warp = 0; warp < warps_.size(); ++warp)
    if (warps_[warp] != 0) out.push_back({foreign_warp(cluster, warp, kEveryLane), warps_[warp]});
  for (const LaneClock& entry : lanes_)
    for (const int lane : lanes_of(entry.lanes))
      out.push_back({foreign_warp(cluster, entry.warp, static_cast<uint32_t>(lane)), entry.clock});
  for (uint32_t chain = 0; chain < chains_.size(); ++chain)
    if (chains_[chain] != 0) out.push_back({foreign_chain(cluster, chain), chains_[chain]});
  const auto by_agent = [](const ForeignClock& a, const ForeignClock& b) {
    return a.agent < b.agent;
  };
  std::sort(out.begin(), out.end(), by_agent);
  const auto own = static_cast<std::ptrdiff_t>(out.size());
  out.insert(out.end(), foreign_.begin(), foreign_.end());
  std::inplace_merge(out.begin(), out.begin() + own, out.end(), by_agent);
  return other;
}

void VectorClock::take_home(uint64_t cluster) {
  const auto first =
      std::lower_bound(foreign_.begin(), foreign_.end(), foreign_warp(cluster, 0, 0), before);
  auto end = first;
  for (; end != foreign_.end() && end->agent < foreign_warp(cluster + 1, 0, 0); ++end) {
    const auto agent = static_cast<uint32_t>(end->agent);
    if ((agent & kChainBit) != 0) {
      learn_chain(agent & ~static_cast<uint32_t>(kChainBit), end->clock);
      continue;
    }
    const uint32_t lane = agent % (2 * kEveryLane);
    learn_lanes(agent / (2 * kEveryLane),
                lane == kEveryLane ? kAllLanes : lane_bit(static_cast<int>(lane)), end->clock);
  }
  foreign_.erase(first, end);
}

void VectorClock::raise(uint32_t warp, LaneMask lanes, Clock clock) {
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

void VectorClock::settle(uint32_t warp) {
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

void VectorClock::learn_lanes(uint32_t warp, LaneMask lanes, Clock clock) {
  if (warp >= warps_.size()) warps_.resize(size_t{warp} + 1, 0);
  if (warps_[warp] >= clock || lanes == 0) return;
  if (lanes == kAllLanes) {
    warps_[warp] = clock;
  } else {
    raise(warp, lanes, clock);
  }
  settle(warp);
}

void VectorClock::join(const VectorClock& other) {
  is_past_grid_wait_ = is_past_grid_wait_ || other.is_past_grid_wait_;
  if (other.warps_.size() > warps_.size()) warps_.resize(other.warps_.size(), 0);
  for (size_t warp = 0; warp < other.warps_.size(); ++warp)
    warps_[warp] = std::max(warps_[warp], other.warps_[warp]);
  if (!lanes_.empty())
    std::erase_if(lanes_,
                  [&](const LaneClock& entry) { return entry.clock <= warps_[entry.warp]; });
  for (const LaneClock& entry : other.lanes_) {
    if (entry.clock <= warps_[entry.warp]) continue;
    raise(entry.warp, entry.lanes, entry.clock);
    settle(entry.warp);
  }
  if (other.chains_.size() > chains_.size()) chains_.resize(other.chains_.size(), 0);
  for (size_t chain = 0; chain < other.chains_.size(); ++chain)
    chains_[chain] = std::max(chains_[chain], other.chains_[chain]);
  if (other.foreign_.empty()) return;
  if (foreign_.empty()) {
    foreign_ = other.foreign_;
    return;
  }
  // Mostly all of the agents are known already.
  auto known = foreign_.begin();
  auto next = other.foreign_.begin();
  for (; next != other.foreign_.end(); ++next) {
    while (known != foreign_.end() && known->agent < next->agent) ++known;
    if (known == foreign_.end() || known->agent != next->agent) break;
    known->clock = std::max(known->clock, next->clock);
  }
  if (next == other.foreign_.end()) return;
  std::vector<ForeignClock> merged;
  merged.reserve(foreign_.size() + other.foreign_.size());
  auto own = foreign_.begin();
  for (const ForeignClock& entry : other.foreign_) {
    while (own != foreign_.end() && own->agent < entry.agent) merged.push_back(*own++);
    if (own != foreign_.end() && own->agent == entry.agent)
      merged.push_back({entry.agent, std::max(entry.clock, (own++)->clock)});
    else
      merged.push_back(entry);
  }
  merged.insert(merged.end(), own, foreign_.end());
  foreign_ = std::move(merged);
}

}  // namespace bw::sim::races
