/// \file
/// A launch and its neighbours in time: what a dependent launch finds, and what a launch leaves to
/// a dependent one.

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/earlier_grids.hpp"
#include "common/simulator/machine/grid.hpp"

namespace bw::sim {

std::vector<Place> Grid::possible_places() const {
  const auto ctas = static_cast<uint32_t>(configuration_.cluster.volume());
  std::vector<Place> all = places_;
  if (all.empty()) {
    for (uint64_t slot = 0; slot < device_.resident_clusters(ctas_per_sm_, ctas); ++slot)
      all.push_back({.first_sm = sm_of(slot, 0)});
    return all;
  }
  for (const Place& place :
       places_of(*device_.settings().machine, device_.settings().sm_count, ctas))
    if (std::none_of(places_.begin(), places_.end(),
                     [&](const Place& one) { return one.first_sm == place.first_sm; }))
      all.push_back(place);
  return all;
}

std::vector<Cycle> Grid::room(const EarlierGrids& earlier, uint64_t count) const {
  const auto ctas = static_cast<uint32_t>(configuration_.cluster.volume());
  std::map<uint32_t, std::vector<Cycle>> begins;
  std::map<uint32_t, uint32_t> taken;
  std::vector<Cycle> found;
  for (uint64_t slot = 0; slot < count; ++slot) {
    Cycle at = 0;
    for (uint32_t rank = 0; rank < ctas; ++rank) {
      const uint32_t sm = sm_of(slot, rank);
      std::vector<Cycle>& on_sm = begins[sm];
      if (on_sm.empty()) on_sm = earlier.room_on(sm, cta_resources_, ctas_per_sm_, begin_);
      // (Where few SMs hold large clusters, places may repeat: more than fit begin with the last.)
      at = std::max(at, on_sm[std::min<size_t>(taken[sm]++, on_sm.size() - 1)]);
    }
    found.push_back(at);
  }
  return found;
}

void Grid::find_room(const EarlierGrids& earlier) {
  places_ = possible_places();
  // More than the launch fills: those that it would take first may be the last to have room.
  const std::vector<Cycle> room_at =
      room(earlier, device_.resident_clusters(ctas_per_sm_, configuration_.cluster.volume()));
  std::vector<uint64_t> slots(room_at.size());
  std::iota(slots.begin(), slots.end(), 0);
  std::stable_sort(slots.begin(), slots.end(),
                   [&](uint64_t a, uint64_t b) { return room_at[a] < room_at[b]; });
  slots.resize(resident_clusters_);
  const double each = begins_.size() < 2 ? 0
                                         : static_cast<double>(begins_.back()) /
                                               static_cast<double>(begins_.size() - 1);
  std::vector<Place> taken;
  begins_.clear();
  double next = 0;
  for (const uint64_t slot : slots) {
    next = std::max(next, static_cast<double>(room_at[slot]));
    taken.push_back(places_[slot % places_.size()]);
    begins_.push_back(static_cast<Cycle>(next));
    next += each;
  }
  places_ = std::move(taken);
}

void Grid::note_times(Cluster& cluster) {
  own_times_.resize(clusters_.volume());
  lives_.resize(clusters_.volume());
  OwnTimes& own = own_times_[cluster.index()];
  own.cycles = cluster.statistics().cycles;
  for (const Cta& cta : cluster.ctas()) {
    own.ended.push_back(cta.ended - std::min(cta.ended, cluster.start()));
    own.triggered.push_back(cta.triggered == kNever ? own.ended.back()
                                                    : cta.triggered - cluster.start());
  }
  const auto start = static_cast<double>(cluster.start());
  lives_[cluster.index()] = {
      .begin = start, .end = start + static_cast<double>(own.cycles), .place = cluster.slot()};
}

EarlierGrids Grid::leave(const EarlierGrids& before) const {
  const TimingTable* const times = device_.settings().times();
  const Cycle latency = times == nullptr ? 0 : times->dependent_launch_cycles;
  const Cycle turnover = times == nullptr ? 0 : times->cta_turnover;
  double last = 1;
  for (const ClusterLife& life : lives_) last = std::max(last, life.end);
  // While SMs multiply, their clock is lower: that stretches all of the launch alike.
  const double stretch = static_cast<double>(result_.clock_cycles - writing_cycles_) / last;
  const auto device_time = [&](size_t index, Cycle own) {
    const ClusterLife& life = lives_[index];
    const auto cycles = static_cast<double>(std::max<Cycle>(own_times_[index].cycles, 1));
    const double in_launch =
        life.begin + static_cast<double>(own) * (life.end - life.begin) / cycles;
    return begin_ + static_cast<Cycle>(in_launch * stretch);
  };
  EarlierGrids left;
  left.triggered = begin_;
  for (size_t index = 0; index < own_times_.size(); ++index)
    for (const Cycle own : own_times_[index].triggered)
      left.triggered = std::max(left.triggered, device_time(index, own));
  left.triggered += latency;
  left.complete =
      begin_ + result_.clock_cycles + (times == nullptr ? 0 : times->dependent_wait_cycles);
  const auto add = [&](const EarlierGrids::Stay& stay) {
    if (stay.end > left.triggered) left.stays.push_back(stay);
  };
  for (const EarlierGrids::Stay& stay : before.stays) add(stay);
  for (size_t index = 0; index < own_times_.size(); ++index)
    for (uint32_t rank = 0; rank < own_times_[index].ended.size(); ++rank)
      add({.sm = sm_of(lives_[index].place, rank),
           .end = device_time(index, own_times_[index].ended[rank]) + turnover,
           .resources = cta_resources_});
  return left;
}

}  // namespace bw::sim
