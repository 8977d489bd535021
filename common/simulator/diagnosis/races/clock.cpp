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

void VectorClock::raise(uint32_t warp, LaneMask lanes, Clock clock) {
  for (size_t i = 0; i < lanes_.size();) {
    LaneClock& entry = lanes_[i];
    if (entry.warp != warp || (entry.lanes & lanes) == 0) {
      ++i;
    } else if (entry.clock >= clock) {
      lanes &= ~entry.lanes;
      ++i;
    } else if ((entry.lanes &= ~lanes) == 0) {
      entry = lanes_.back();
      lanes_.pop_back();
    } else {
      ++i;
    }
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
