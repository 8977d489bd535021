#include "common/simulator/diagnosis/races/clock.hpp"

namespace bw::sim::races {
namespace {

bool before(const ForeignClock& entry, uint64_t agent) { return entry.agent < agent; }

}  // namespace

std::span<const ForeignClock> ForeignClocks::from(uint64_t first) const {
  if (table_ == nullptr) return {};
  const std::span<const ForeignClock> clocks = table_->clocks;
  return {std::lower_bound(clocks.begin(), clocks.end(), first, before), clocks.end()};
}

Clock ForeignClocks::of(uint64_t agent) const {
  const std::span<const ForeignClock> found = from(agent);
  return !found.empty() && found[0].agent == agent ? found[0].clock : 0;
}

void ForeignClocks::Table::advance(bool goes_on) {
  static std::atomic<uint64_t> lineages{0};
  if (goes_on && lineage_of(content + 1) == lineage_of(content)) {
    ++content;
    return;
  }
  if (content != 0) add_older(content);
  content = ++lineages << kPositionBits;
  is_continued = false;
}

ForeignClocks::Table& ForeignClocks::own() {
  if (table_ == nullptr) {
    table_ = std::make_shared<Table>();
    table_->advance(/*goes_on=*/false);
  } else if (table_.use_count() == 1) {
    table_->advance(!table_->is_continued);
  } else {
    const bool goes_on = !table_->is_continued.exchange(true);
    table_ = std::make_shared<Table>(*table_);
    table_->advance(goes_on);
  }
  return *table_;
}

void ForeignClocks::learn(uint64_t agent, Clock clock) {
  if (of(agent) >= clock) return;
  auto& clocks = own().clocks;
  const auto found = std::lower_bound(clocks.begin(), clocks.end(), agent, before);
  if (found != clocks.end() && found->agent == agent)
    found->clock = clock;
  else
    clocks.insert(found, {agent, clock});
}

std::shared_ptr<ForeignClocks::Table> ForeignClocks::merged(const Table& a, const Table& b) {
  auto both = std::make_shared<Table>();
  both->clocks.reserve(a.clocks.size() + b.clocks.size());
  auto next = a.clocks.begin();
  for (const ForeignClock& entry : b.clocks) {
    while (next != a.clocks.end() && next->agent < entry.agent) both->clocks.push_back(*next++);
    if (next != a.clocks.end() && next->agent == entry.agent)
      both->clocks.push_back({entry.agent, std::max(entry.clock, (next++)->clock)});
    else
      both->clocks.push_back(entry);
  }
  both->clocks.insert(both->clocks.end(), next, a.clocks.end());
  both->advance(/*goes_on=*/false);
  both->add_older(a.content);
  both->add_older(b.content);
  return both;
}

void ForeignClocks::join(const ForeignClocks& other) {
  if (other.table_ == table_ || other.table_ == nullptr) return;
  if (table_ == nullptr || other.table_->contains(table_->content)) {
    table_ = other.table_;
    return;
  }
  if (table_->contains(other.table_->content)) return;
  // Mostly one of the two knows all that the other does, and its table serves both.
  bool knows_all = true, other_knows_all = true;
  auto theirs = other.table_->clocks.begin();
  const auto end = other.table_->clocks.end();
  for (const ForeignClock& mine : table_->clocks) {
    for (; theirs != end && theirs->agent < mine.agent; ++theirs) knows_all = false;
    if (theirs == end || theirs->agent != mine.agent) {
      other_knows_all = false;
    } else {
      if (mine.clock < theirs->clock) knows_all = false;
      if (theirs->clock < mine.clock) other_knows_all = false;
      ++theirs;
    }
    if (!knows_all && !other_knows_all) break;
  }
  if (theirs != end) knows_all = false;
  if (knows_all) {
    table_->add_older(other.table_->content);
  } else if (other_knows_all) {
    other.table_->add_older(table_->content);
    table_ = other.table_;
  } else {
    table_ = merged(*table_, *other.table_);
  }
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
  for (const ForeignClock& entry : foreign_.from(foreign_warp(cluster, warp, 0))) {
    if (entry.agent > foreign_warp(cluster, warp, kEveryLane)) break;
    if (entry.clock < clock) continue;
    if (entry.agent == foreign_warp(cluster, warp, kEveryLane)) return kAllLanes;
    known |= lane_bit(static_cast<int>(entry.agent % (2 * kEveryLane)));
  }
  return known;
}

void VectorClock::join_foreign(const VectorClock& other, uint64_t cluster) {
  is_past_grid_wait_ = is_past_grid_wait_ || other.is_past_grid_wait_;
  foreign_.join(other.foreign_);
  other.for_own(cluster, [&](uint64_t agent, Clock clock) { learn_foreign(agent, clock); });
}

bool VectorClock::holds(const VectorClock& other, uint64_t cluster) const {
  bool known = holds_foreign(other);
  other.for_own(cluster,
                [&](uint64_t agent, Clock clock) { known = known && foreign(agent) >= clock; });
  return known;
}

void VectorClock::take_home(uint64_t cluster) {
  for (const ForeignClock& entry : foreign_.from(foreign_warp(cluster, 0, 0))) {
    if (entry.agent >= foreign_warp(cluster + 1, 0, 0)) break;
    const auto agent = static_cast<uint32_t>(entry.agent);
    if ((agent & kChainBit) != 0) {
      learn_chain(agent & ~static_cast<uint32_t>(kChainBit), entry.clock);
      continue;
    }
    const uint32_t lane = agent % (2 * kEveryLane);
    learn_lanes(agent / (2 * kEveryLane),
                lane == kEveryLane ? kAllLanes : lane_bit(static_cast<int>(lane)), entry.clock);
  }
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
  foreign_.join(other.foreign_);
}

}  // namespace bw::sim::races
