/// \file
/// A launch and its neighbours in time: what a dependent launch finds, and what a launch leaves to
/// a dependent one.

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/earlier_grids.hpp"
#include "common/simulator/machine/grid.hpp"

namespace bw::sim {
namespace {

/// A place for a cluster, and when it has room.
struct RoomyPlace {
  Cycle at = 0;
  Place place;
};

/// All places that a launch may take, in the order in which it takes them when all are free.
std::vector<RoomyPlace> places_with_room(const std::vector<Place>& places, uint64_t count,
                                         uint32_t cluster_ctas, uint32_t sms,
                                         const auto& begins_on) {
  std::map<uint32_t, uint32_t> taken;
  std::vector<RoomyPlace> found;
  for (uint64_t slot = 0; slot < count; ++slot) {
    RoomyPlace one{.place = places[slot % places.size()]};
    for (uint32_t rank = 0; rank < cluster_ctas; ++rank) {
      const uint32_t sm = (one.place.first_sm + rank) % sms;
      one.at = std::max(one.at, begins_on(sm)[taken[sm]++]);
    }
    found.push_back(one);
  }
  return found;
}

}  // namespace

uint32_t Grid::sm_of(uint64_t slot, uint32_t rank) const {
  return (first_sm(slot) + rank) % device_.settings().sm_count;
}

void Grid::find_room(const EarlierGrids& earlier) {
  const auto ctas = static_cast<uint32_t>(configuration_.cluster.volume());
  const uint32_t sms = device_.settings().sm_count;
  // More than the launch fills: those that it would take first may be the last to have room.
  const uint64_t all = device_.resident_clusters(ctas_per_sm_, ctas);
  const std::vector<Place> possible = places_of(*device_.settings().machine, sms, ctas);
  std::vector<Place> usual = places_;
  if (usual.empty()) {
    for (uint64_t slot = 0; slot < all; ++slot) usual.push_back({.first_sm = first_sm(slot)});
  } else if (usual.size() < possible.size()) {
    for (const Place& place : possible)
      if (std::none_of(places_.begin(), places_.end(),
                       [&](const Place& one) { return one.first_sm == place.first_sm; }))
        usual.push_back(place);
  }
  std::map<uint32_t, std::vector<Cycle>> begins;
  const auto begins_on = [&](uint32_t sm) -> const std::vector<Cycle>& {
    auto [found, is_new] = begins.try_emplace(sm);
    // (Where few SMs hold large clusters, places may repeat: more than fit begin with the last.)
    if (is_new) {
      found->second = earlier.room_on(sm, cta_resources_, ctas_per_sm_, begin_);
      found->second.resize(all * ctas, found->second.back());
    }
    return found->second;
  };
  std::vector<RoomyPlace> found = places_with_room(usual, all, ctas, sms, begins_on);
  std::stable_sort(found.begin(), found.end(),
                   [](const RoomyPlace& a, const RoomyPlace& b) { return a.at < b.at; });
  found.resize(resident_clusters_);
  const double each = begins_.size() < 2 ? 0
                                         : static_cast<double>(begins_.back()) /
                                               static_cast<double>(begins_.size() - 1);
  places_.clear();
  begins_.clear();
  double next = 0;
  for (const RoomyPlace& one : found) {
    next = std::max(next, static_cast<double>(one.at));
    places_.push_back(one.place);
    begins_.push_back(static_cast<Cycle>(next));
    next += each;
  }
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
