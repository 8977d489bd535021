#include "common/simulator/clock/launch_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "common/simulator/clock/free_slots.hpp"
#include "common/simulator/clock/l2_queue.hpp"
#include "common/simulator/clock/sm_contention.hpp"
#include "common/simulator/clock/supply.hpp"

namespace bw::sim {
namespace {

/// Steps of the simulation: a thousandth of the launch, but not shorter than this.
constexpr double kShortestStep = 32;
constexpr double kWantedSteps = 1024;
/// Rounds in which equal parts of a resource are found.
constexpr int kRounds = 8;

using Rates = std::array<double, kResources>;

/// A cluster in its place.
struct Running {
  const DemandProfile* profile = nullptr;
  size_t index = 0;    ///< of the launch's clusters
  size_t row = 0;      ///< its CTAs' places: in Simulation::places_
  double done = 0;     ///< of its own time; negative: it has not begun
  uint32_t left = 0;   ///< CTAs (bits) that have left their places
  Supply l2 = {};      ///< what it reads of the L2 cache
  Supply memory = {};  ///< what it moves to and from the memory
};

/// Clusters that read through a port of the L2 cache.
struct Port {
  std::vector<size_t> readers;  ///< by their numbers in Simulation::running_
  std::vector<double> wants;    ///< theirs, in bytes a cycle
};

class Simulation {
 public:
  Simulation(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity,
             const FallingClock& clock)
      : clusters_(clusters),
        capacity_(capacity),
        machine_sms_(clock.sms),
        free_(capacity.ctas_per_cluster, capacity.gpcs),
        lives_(clusters.size()),
        l2_queue_(capacity.l2_queue_cycles),
        sms_(capacity.sms) {
    for (const DemandProfile& cluster : clusters_) tensor_use_.count_ctas(cluster);
    if (clock.times != nullptr && tensor_use_.ctas() != 0) clock_.emplace(*clock.times);
    for (size_t r = 0; r < credit_.size(); ++r)
      credit_[r] = capacity.credit * capacity.a_cycle[kSmResources + r];
    step_ = std::max(least_time(clusters, capacity) / kWantedSteps, kShortestStep);
  }

  LaunchTime run() {
    for (uint64_t place = 0; place < capacity_.places && next_ < clusters_.size(); ++place) {
      for (uint32_t cta = 0; cta < capacity_.ctas_per_cluster; ++cta)
        places_.push_back(static_cast<uint32_t>(place * capacity_.ctas_per_cluster + cta));
      running_.push_back(begin(place, -begin_of(place)));
    }
    if (capacity_.follow != 0 && !running_.empty()) begun_ = -running_.back().done;
    while (!running_.empty()) advance();
    LaunchTime result{.cycles = static_cast<Cycle>(std::ceil(end_ - kRounding)),
                      .busy = {},
                      .tensor_use = std::move(tensor_use_),
                      .writing = writing(),
                      .lives = std::move(lives_),
                      .l2_queue = l2_queue_.mean_delay()};
    for (size_t resource = 0; resource < kResources; ++resource) {
      const double units = resource < kSmResources ? capacity_.sms : 1;
      const double most = units * capacity_.a_cycle[resource] * end_;
      result.busy[resource] = most == 0 ? 0 : used_[resource] / most;
    }
    return result;
  }

 private:
  /// What was asked for ahead is still on its way.
  [[nodiscard]] Cycle writing() const {
    constexpr auto kWritten = static_cast<size_t>(Resource::l2_written_bytes);
    const double most = capacity_.a_cycle[kWritten];
    return std::isinf(most)
               ? 0
               : static_cast<Cycle>(capacity_.credit - credit_[kWritten - kSmResources] / most);
  }

  /// Sums of parts of a step are not exact; a launch does not take a cycle longer for that.
  static constexpr double kRounding = 1e-6;

  /// What the places or one of the resources need for all clusters at least.
  static double least_time(std::span<const DemandProfile> clusters,
                           const LaunchCapacity& capacity) {
    double all = 0;
    Rates sums{};
    for (const DemandProfile& one : clusters) {
      all += static_cast<double>(one.duration);
      for (const auto& cta : one.intervals)
        for (const Amounts& amounts : cta)
          for (size_t r = 0; r < kResources; ++r) sums[r] += static_cast<double>(amounts[r]);
    }
    double least = all / static_cast<double>(std::min<uint64_t>(capacity.places, clusters.size()));
    for (size_t r = 0; r < kResources; ++r) {
      const double units = r < kSmResources ? capacity.sms : 1;
      least = std::max(least, sums[r] / (units * static_cast<double>(capacity.a_cycle[r])));
    }
    return least;
  }

  /// The mean of a CTA's rates over its cluster's own time from `from` to `to`.
  static Rates rates(const DemandProfile& profile, size_t cta, double from, double to) {
    Rates sums{};
    const std::vector<Amounts>& intervals = profile.intervals[cta];
    const auto length = static_cast<double>(profile.interval);
    const auto duration = static_cast<double>(profile.duration);
    for (auto i = static_cast<size_t>(std::max(from, 0.0) / length); i < intervals.size(); ++i) {
      const double begin = static_cast<double>(i) * length;
      if (begin >= to) break;
      const double end = i + 1 == intervals.size() ? std::max(duration, begin + 1) : begin + length;
      const double part = (std::min(end, to) - std::max(begin, from)) / (end - begin);
      for (size_t r = 0; r < kResources; ++r)
        sums[r] += part * static_cast<double>(intervals[i][r]);
    }
    for (double& sum : sums) sum /= to - from;
    return sums;
  }

  /// A cluster that has not begun, in its row of places.
  Running begin(size_t row, double done) {
    const size_t index = next_++;
    const DemandProfile& profile = clusters_[index];
    lives_[index] = {.begin = now_ - done,
                     .port = capacity_.ports.empty() ? 0 : port_of(row),
                     .place = place_of(row)};
    const auto supply_of = [&](Resource resource) {
      const bool is_limited = !std::isinf(capacity_.a_cycle[static_cast<size_t>(resource)]);
      return is_limited ? Supply(profile, resource) : Supply();
    };
    return {.profile = &profile,
            .index = index,
            .row = row,
            .done = done,
            .l2 = supply_of(Resource::l2_read_bytes),
            .memory = supply_of(Resource::hbm_bytes)};
  }

  /// Each of `wants` at most its equal part of `capacity`.
  static void share(std::vector<double>& wants, double capacity) {
    double level = 0;
    double left = capacity;
    size_t above = wants.size();
    for (int round = 0; round < kRounds; ++round) {
      const double next = level + left / static_cast<double>(above);
      double given = 0;
      size_t still = 0;
      for (const double want : wants) {
        given += std::min(want, next);
        still += want > next ? 1 : 0;
      }
      level = next;
      left = capacity - given;
      if (still == 0 || left <= 0) break;
      above = still;
    }
    for (double& want : wants) want = std::min(want, level);
  }

  [[nodiscard]] Wants wants_of(const Rates& own) const {
    Wants wants{};
    for (size_t r = 0; r < kSmResources; ++r)
      if (own[r] > 0) wants[r] = own[r] / static_cast<double>(capacity_.a_cycle[r]);
    wants[kShared - 1] =
        wants[static_cast<size_t>(Resource::shared_memory_cycles)] +
        capacity_.landing_passes * wants[static_cast<size_t>(Resource::loading_cycles)];
    return wants;
  }

  /// What there is of a resource of the chip in a cycle of the SMs' clock as it is now.
  [[nodiscard]] double a_cycle(Resource resource) const {
    return slower_ * static_cast<double>(capacity_.a_cycle[static_cast<size_t>(resource)]);
  }

  /// How much of a resource of the chip is available in a cycle of this step, when `wanted` is
  /// requested.
  double available(Resource resource, double wanted) {
    const auto r = static_cast<size_t>(resource);
    const double most = a_cycle(resource);
    double& left = credit_[r - kSmResources];
    const double all = most + left / step_;
    left = std::clamp(left + (most - wanted) * step_, 0.0, most * capacity_.credit);
    return all;
  }

  /// A cluster that writes more than there is room for is slower.
  void slow_down_for_writes() {
    constexpr auto kWritten = static_cast<size_t>(Resource::l2_written_bytes);
    if (std::isinf(capacity_.a_cycle[kWritten])) return;
    wants_.clear();
    for (size_t i = 0; i < running_.size(); ++i) wants_.push_back(speeds_[i] * rates_[i][kWritten]);
    const double sum = std::accumulate(wants_.begin(), wants_.end(), 0.0);
    const double most = available(Resource::l2_written_bytes, sum);
    if (sum <= most) return;
    gets_ = wants_;
    share(gets_, most);
    for (size_t i = 0; i < running_.size(); ++i)
      if (gets_[i] < wants_[i]) speeds_[i] *= gets_[i] / wants_[i];
  }

  /// Copies come later the more is read. What a CTA waits for others of its SM it does not wait at
  /// the same time.
  void slow_down_for_queue() {
    const double later = l2_queue_.delay();
    for (size_t i = 0; later > 0 && i < running_.size(); ++i) {
      const Running& one = running_[i];
      const double waits = 1 / one.l2.speed(one.done, capacity_.copy_cycles, later) - 1;
      speeds_[i] = 1 / (1 / speeds_[i] + waits);
    }
  }

  /// Reads arrive as the capacity allows. A cluster that waits for data that has not arrived is
  /// slower.
  void bring(Resource resource, Supply Running::*supply) {
    if (std::isinf(capacity_.a_cycle[static_cast<size_t>(resource)])) return;
    const auto end_of_step = [&](size_t i) {
      const auto duration = static_cast<double>(running_[i].profile->duration);
      return std::min(running_[i].done + speeds_[i] * step_, duration);
    };
    if (resource == Resource::l2_read_bytes) slow_down_for_queue();
    gets_.clear();
    for (size_t i = 0; i < running_.size(); ++i)
      gets_.push_back((running_[i].*supply).wanted(end_of_step(i)) / step_);
    if (resource == Resource::l2_read_bytes) limit_to_ports(gets_);
    const double sum = std::accumulate(gets_.begin(), gets_.end(), 0.0);
    if (resource == Resource::l2_read_bytes) l2_queue_.read(sum, a_cycle(resource), step_);
    const double most = available(resource, sum);
    if (sum > most) share(gets_, most);
    for (size_t i = 0; i < running_.size(); ++i) {
      const double from = std::max(running_[i].done, 0.0);
      const double to = end_of_step(i);
      if (to <= from) continue;
      const double reached = (running_[i].*supply).get(gets_[i] * step_, from, to);
      speeds_[i] *= (reached - running_[i].done) / (to - running_[i].done);
    }
  }

  /// Those who read through a full port have equal parts of it.
  void limit_to_ports(std::vector<double>& wants) {
    if (capacity_.ports.empty() || std::isinf(capacity_.port_a_cycle)) return;
    for (Port& port : ports_) {
      port.readers.clear();
      port.wants.clear();
    }
    for (size_t i = 0; i < running_.size(); ++i) {
      const uint32_t number = port_of(running_[i].row);
      if (number >= ports_.size()) ports_.resize(number + 1);
      ports_[number].readers.push_back(i);
      ports_[number].wants.push_back(wants[i]);
    }
    const double most = slower_ * capacity_.port_a_cycle;
    for (Port& port : ports_) {
      const double all = std::accumulate(port.wants.begin(), port.wants.end(), 0.0);
      if (all <= most) continue;
      share(port.wants, most);
      for (size_t i = 0; i < port.readers.size(); ++i) wants[port.readers[i]] = port.wants[i];
    }
  }

  void find_speeds() {
    for (SmContention& sm : sms_) sm = {};
    speeds_.assign(running_.size(), 1);
    rates_.assign(running_.size(), {});
    cta_wants_.clear();
    for (size_t i = 0; i < running_.size(); ++i) {
      const Running& one = running_[i];
      const double to = std::min(one.done + step_, static_cast<double>(one.profile->duration));
      const bool runs = to > 0 && to > one.done;
      for (size_t cta = 0; cta < one.profile->intervals.size(); ++cta) {
        Wants& wants = cta_wants_.emplace_back();
        if (!runs || one.profile->intervals[cta].empty()) continue;
        const Rates own = rates(*one.profile, cta, one.done, to);
        for (size_t r = 0; r < kResources; ++r) rates_[i][r] += own[r];
        if ((one.left >> cta & 1) != 0) continue;
        wants = wants_of(own);
        sms_[sm_of(one, cta)].add(wants);
      }
    }
    for (SmContention& sm : sms_) sm.find_waits();
    size_t number = 0;
    for (size_t i = 0; i < running_.size(); ++i)
      for (size_t cta = 0; cta < running_[i].profile->intervals.size(); ++cta, ++number)
        speeds_[i] =
            std::min(speeds_[i], sms_[sm_of(running_[i], cta)].speed_of(cta_wants_[number]));
    bring(Resource::l2_read_bytes, &Running::l2);
    slow_down_for_writes();
    bring(Resource::hbm_bytes, &Running::memory);
  }

  void advance() {
    find_speeds();
    next_running_.clear();
    TensorUse::Interval done;
    for (size_t i = 0; i < running_.size(); ++i) {
      Running& one = running_[i];
      const auto duration = static_cast<double>(one.profile->duration);
      const double speed = one.done < 0 ? 1 : speeds_[i];
      const double reached = one.done + speed * step_;
      const double worked = std::min(reached, duration) - std::max(one.done, 0.0);
      for (size_t r = 0; worked > 0 && r < kResources; ++r) used_[r] += worked * rates_[i][r];
      if (worked > 0) {
        const TensorUse::Interval own{
            .tensor = worked * rates_[i][static_cast<size_t>(Resource::tensor_cycles)],
            .copies = worked * rates_[i][static_cast<size_t>(Resource::loading_cycles)]};
        tensor_use_.add(now_, now_ + step_, own);
        done.tensor += own.tensor;
        done.copies += own.copies;
      }
      leave(one, reached, speed);
      if (reached < duration) {
        one.done = reached;
        next_running_.push_back(std::move(one));
        continue;
      }
      const double taken = speed == 0 ? 0 : (duration - one.done) / speed;
      lives_[one.index].end = now_ + taken;
      end_ = std::max(end_, now_ + taken);
      free_rows_.push_back(one.row);
    }
    now_ += step_;
    follow_clock(done);
    while (next_ < clusters_.size()) {
      const auto places = free_.take();
      if (!places) break;
      // What is left of the step it goes on at the speed of the one before it.
      const FreeSlots::FreeSlot& last = places->back();
      begun_ =
          std::max(last.at + static_cast<double>(capacity_.turnover), begun_ + capacity_.follow);
      const double since = now_ - begun_;
      next_running_.push_back(begin(row_of(*places), since > 0 ? since * last.speed : since));
    }
    running_.swap(next_running_);
  }

  /// The clock of the next step follows what the SMs have done in this one. The L2 cache and the
  /// memory have clocks of their own: of an H100 they stay as they are (tests/hardware/timing).
  void follow_clock(const TensorUse::Interval& done) {
    if (!clock_) return;
    const uint32_t sms = std::min(tensor_use_.ctas(), machine_sms_);
    const double most = sms * step_;
    const TensorLoad load{.sms = static_cast<double>(sms) / machine_sms_,
                          .busy = std::min(1.0, done.tensor / most),
                          .copies = std::min(1.0, done.copies / most)};
    slower_ = 1 + clock_->more_cycles(step_, load) / step_;
  }

  /// The CTAs of a cluster that end while it goes on until `reached` leave their places.
  void leave(Running& one, double reached, double speed) {
    const size_t ctas = capacity_.ctas_per_cluster;
    const auto duration = static_cast<double>(one.profile->duration);
    for (size_t cta = 0; cta < ctas; ++cta) {
      const auto end =
          one.profile->ends.empty() ? duration : static_cast<double>(one.profile->ends[cta]);
      if (end > reached || (one.left >> cta & 1) != 0) continue;
      one.left |= 1u << cta;
      const double taken = speed == 0 ? 0 : (end - one.done) / speed;
      free_.add({now_ + taken, places_[one.row * ctas + cta], speed});
    }
  }

  /// A row of places_ for a cluster in these places.
  size_t row_of(const std::vector<FreeSlots::FreeSlot>& places) {
    const size_t ctas = capacity_.ctas_per_cluster;
    size_t row = places_.size() / ctas;
    if (free_rows_.empty()) {
      places_.resize(places_.size() + ctas);
    } else {
      row = free_rows_.back();
      free_rows_.pop_back();
    }
    for (size_t cta = 0; cta < ctas; ++cta) places_[row * ctas + cta] = places[cta].place;
    return row;
  }

  [[nodiscard]] double begin_of(uint64_t place) const {
    return place < capacity_.begins.size() ? static_cast<double>(capacity_.begins[place]) : 0;
  }

  /// Through which the cluster in a row of places reads.
  [[nodiscard]] uint32_t port_of(size_t row) const { return capacity_.ports[place_of(row)]; }
  /// The place of the first CTA in a row of places.
  [[nodiscard]] size_t place_of(size_t row) const {
    return places_[row * capacity_.ctas_per_cluster] / capacity_.ctas_per_cluster;
  }
  [[nodiscard]] size_t sm_of(const Running& one, size_t cta) const {
    return places_[one.row * capacity_.ctas_per_cluster + cta] % capacity_.sms;
  }

  std::span<const DemandProfile> clusters_;
  const LaunchCapacity& capacity_;
  uint32_t machine_sms_;
  double step_ = 0;
  double now_ = 0;
  double end_ = 0;
  double begun_ = 0;  ///< when the last cluster that followed another one has begun
  size_t next_ = 0;   ///< the first that has not started
  Rates used_{};
  TensorUse tensor_use_;
  std::optional<TensorClock> clock_;  ///< of the SMs, where any multiply
  double slower_ = 1;                 ///< the highest clock, as a multiple of what it is now
  std::array<double, kResources - kSmResources> credit_{};  ///< amounts that may be asked for ahead
  std::vector<Running> running_, next_running_;             ///< by age
  std::vector<uint32_t> places_;                            ///< of CTAs, by Running::row
  std::vector<size_t> free_rows_;                           ///< of places_
  FreeSlots free_;
  std::vector<ClusterLife> lives_;  ///< of all clusters
  L2Queue l2_queue_;
  std::vector<double> speeds_, wants_, gets_;
  std::vector<Port> ports_;        ///< of the L2 cache, in this step
  std::vector<Rates> rates_;       ///< of clusters
  std::vector<Wants> cta_wants_;   ///< of all their CTAs
  std::vector<SmContention> sms_;  ///< in this step
};

}  // namespace

void LockstepTime::add(const DemandProfile& profile, Cycle start, uint64_t place) {
  const size_t parts = profile.interval / Demand::kInterval;
  const size_t first = start / Demand::kInterval;
  for (size_t cta = 0; cta < profile.intervals.size(); ++cta) {
    const size_t sm = (place * capacity_.ctas_per_cluster + cta) % capacity_.sms;
    const std::vector<Amounts>& amounts = profile.intervals[cta];
    if (intervals_.size() < first + amounts.size() * parts)
      intervals_.resize(first + amounts.size() * parts);
    for (size_t i = 0; i < amounts.size() * parts; ++i) {
      auto& sms = intervals_[first + i];
      sms.resize(capacity_.sms);
      for (size_t r = 0; r < kSmResources; ++r)
        sms[sm][r] += amounts[i / parts][r] / static_cast<float>(parts);
    }
  }
}

Cycle LockstepTime::missing() const {
  constexpr auto kLength = static_cast<double>(Demand::kInterval);
  double cycles = 0;
  for (const auto& sms : intervals_) {
    double sum = 0;
    size_t busy = 0;
    for (const auto& sm : sms) {
      double most = 0;
      for (size_t r = 0; r < kSmResources; ++r)
        most = std::max(most, static_cast<double>(sm[r]) /
                                  (kLength * static_cast<double>(capacity_.a_cycle[r])));
      busy += most == 0 ? 0 : 1;
      sum += std::max(0.0, most - 1);
    }
    if (busy != 0) cycles += kLength * sum / static_cast<double>(busy);
  }
  return static_cast<Cycle>(cycles);
}

namespace {

/// Whether nothing can slow a cluster down that has its SMs for itself: no interval asks for more
/// of an SM than there is.
bool has_enough(const DemandProfile& cluster, const LaunchCapacity& capacity) {
  for (const std::vector<Amounts>& intervals : cluster.intervals)
    for (size_t i = 0; i < intervals.size(); ++i) {
      const Cycle begin = i * cluster.interval;
      const Cycle length = i + 1 < intervals.size() ? cluster.interval
                                                    : std::max(cluster.duration, begin + 1) - begin;
      for (size_t r = 0; r < kSmResources; ++r)
        if (intervals[i][r] > capacity.a_cycle[r] * static_cast<float>(length)) return false;
    }
  return true;
}

/// Whether no cluster can slow down another: all are on different SMs, and the chip has enough.
bool are_independent(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity) {
  if (clusters.size() > capacity.places ||
      clusters.size() * capacity.ctas_per_cluster > capacity.sms)
    return false;
  for (size_t r = kSmResources; r < kResources; ++r)
    if (!std::isinf(capacity.a_cycle[r])) return false;
  return std::all_of(clusters.begin(), clusters.end(),
                     [&](const DemandProfile& one) { return has_enough(one, capacity); });
}

/// The time of such clusters.
LaunchTime time_apart(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity) {
  LaunchTime result;
  for (size_t place = 0; place < clusters.size(); ++place) {
    const Cycle begin = place < capacity.begins.size() ? capacity.begins[place] : 0;
    const Cycle end = begin + clusters[place].duration;
    result.lives.push_back({.begin = static_cast<double>(begin),
                            .end = static_cast<double>(end),
                            .port = place < capacity.ports.size() ? capacity.ports[place] : 0,
                            .place = place});
    result.cycles = std::max(result.cycles, end);
    result.tensor_use.add(clusters[place], static_cast<double>(begin));
  }
  for (size_t r = 0; r < kSmResources; ++r) {
    double used = 0;
    for (const DemandProfile& one : clusters) used += one.total(static_cast<Resource>(r));
    const double most =
        capacity.sms * capacity.a_cycle[r] * static_cast<double>(std::max<Cycle>(result.cycles, 1));
    result.busy[r] = used / most;
  }
  return result;
}

}  // namespace

LaunchTime launch_time(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity,
                       const FallingClock& clock) {
  if (are_independent(clusters, capacity)) return time_apart(clusters, capacity);
  return Simulation(clusters, capacity, clock).run();
}

}  // namespace bw::sim
