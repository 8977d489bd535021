#include "common/simulator/machine/timing/launch_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <queue>
#include <vector>

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
  uint64_t place = 0;
  double done = 0;  ///< of its own time; negative: it has not begun
};

class Simulation {
 public:
  Simulation(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity)
      : clusters_(clusters), capacity_(capacity), left_(capacity.sms) {
    for (size_t r = 0; r < credit_.size(); ++r)
      credit_[r] = capacity.credit * capacity.a_cycle[kSmResources + r];
    step_ = std::max(least_time(clusters, capacity) / kWantedSteps, kShortestStep);
  }

  LaunchTime run() {
    for (uint64_t place = 0; place < capacity_.places && next_ < clusters_.size(); ++place)
      running_.push_back({&clusters_[next_++], place, -begin_of(place)});
    while (!running_.empty()) advance();
    LaunchTime result{.cycles = static_cast<Cycle>(std::ceil(end_ - kRounding)), .busy = {}};
    for (size_t resource = 0; resource < kResources; ++resource) {
      const double units = resource < kSmResources ? capacity_.sms : 1;
      const double most = units * capacity_.a_cycle[resource] * end_;
      result.busy[resource] = most == 0 ? 0 : used_[resource] / most;
    }
    return result;
  }

 private:
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

  void slow_down_for(Resource resource) {
    const auto r = static_cast<size_t>(resource);
    if (std::isinf(capacity_.a_cycle[r])) return;
    wants_.clear();
    double sum = 0;
    for (size_t i = 0; i < running_.size(); ++i) {
      wants_.push_back(speeds_[i] * rates_[i][r]);
      sum += wants_.back();
    }
    const double most = capacity_.a_cycle[r];
    double& left = credit_[r - kSmResources];
    const double available = most + left / step_;
    left = std::clamp(left + (most - sum) * step_, 0.0, most * capacity_.credit);
    if (sum <= available) return;
    gets_ = wants_;
    share(gets_, available);
    for (size_t i = 0; i < running_.size(); ++i)
      if (gets_[i] < wants_[i]) speeds_[i] *= gets_[i] / wants_[i];
  }

  void find_speeds() {
    for (auto& sm : left_)
      for (size_t r = 0; r < kSmResources; ++r) sm[r] = capacity_.a_cycle[r];
    speeds_.assign(running_.size(), 1);
    rates_.assign(running_.size(), {});
    for (size_t i = 0; i < running_.size(); ++i) {  // the oldest first
      const Running& one = running_[i];
      const double to = std::min(one.done + step_, static_cast<double>(one.profile->duration));
      if (to <= 0 || to <= one.done) continue;
      const size_t ctas = one.profile->intervals.size();
      cta_rates_.clear();
      for (size_t cta = 0; cta < ctas; ++cta) {
        if (one.profile->intervals[cta].empty()) {
          cta_rates_.push_back({});
          continue;
        }
        cta_rates_.push_back(rates(*one.profile, cta, one.done, to));
        auto& left = left_[sm_of(one, cta)];
        for (size_t r = 0; r < kSmResources; ++r) {
          const double want = cta_rates_.back()[r];
          if (want > left[r]) speeds_[i] = std::min(speeds_[i], left[r] / want);
        }
      }
      for (size_t cta = 0; cta < ctas; ++cta) {
        auto& left = left_[sm_of(one, cta)];
        for (size_t r = 0; r < kSmResources; ++r)
          left[r] = std::max(0.0, left[r] - speeds_[i] * cta_rates_[cta][r]);
        for (size_t r = 0; r < kResources; ++r) rates_[i][r] += cta_rates_[cta][r];
      }
    }
    slow_down_for(Resource::l2_read_bytes);
    slow_down_for(Resource::l2_written_bytes);
    slow_down_for(Resource::hbm_bytes);
  }

  void advance() {
    find_speeds();
    next_running_.clear();
    for (size_t i = 0; i < running_.size(); ++i) {
      Running& one = running_[i];
      const auto duration = static_cast<double>(one.profile->duration);
      const double speed = one.done < 0 ? 1 : speeds_[i];
      const double reached = one.done + speed * step_;
      const double worked = std::min(reached, duration) - std::max(one.done, 0.0);
      for (size_t r = 0; worked > 0 && r < kResources; ++r) used_[r] += worked * rates_[i][r];
      if (reached < duration) {
        one.done = reached;
        next_running_.push_back(one);
        continue;
      }
      const double taken = speed == 0 ? 0 : (duration - one.done) / speed;
      const double end = now_ + taken;
      end_ = std::max(end_, end);
      ended_.push({end, one.place, speed});
    }
    now_ += step_;
    // Whose place is free first is taken first, the lower one of two.
    while (!ended_.empty()) {
      const Ended first = ended_.top();
      ended_.pop();
      if (next_ == clusters_.size()) continue;
      // What is left of the step it goes on at the speed of the one before it.
      const double since = now_ - first.at - static_cast<double>(capacity_.turnover);
      next_running_.push_back(
          {&clusters_[next_++], first.place, since > 0 ? since * first.speed : since});
    }
    running_.swap(next_running_);
  }

  [[nodiscard]] double begin_of(uint64_t place) const {
    return place < capacity_.begins.size() ? static_cast<double>(capacity_.begins[place]) : 0;
  }

  [[nodiscard]] size_t sm_of(const Running& one, size_t cta) const {
    return (one.place * capacity_.ctas_per_cluster + cta) % capacity_.sms;
  }

  struct Ended {
    double at;
    uint64_t place;
    double speed;
    bool operator<(const Ended& other) const {  // the first on top
      return at != other.at ? at > other.at : place > other.place;
    }
  };

  std::span<const DemandProfile> clusters_;
  const LaunchCapacity& capacity_;
  double step_ = 0;
  double now_ = 0;
  double end_ = 0;
  size_t next_ = 0;  ///< the first that has not started
  Rates used_{};
  std::array<double, kResources - kSmResources> credit_{};  ///< amounts that may be asked for ahead
  std::vector<Running> running_, next_running_;             ///< by age
  std::priority_queue<Ended> ended_;
  std::vector<double> speeds_, wants_, gets_;
  std::vector<Rates> rates_, cta_rates_;                // of clusters and of the CTAs of one
  std::vector<std::array<double, kSmResources>> left_;  ///< of each SM in this step
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

/// Whether no cluster can slow down another: all lie on different SMs, and the chip has enough.
bool lie_apart(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity) {
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
    result.cycles = std::max(result.cycles, begin + clusters[place].duration);
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

LaunchTime launch_time(std::span<const DemandProfile> clusters, const LaunchCapacity& capacity) {
  if (lie_apart(clusters, capacity)) return time_apart(clusters, capacity);
  return Simulation(clusters, capacity).run();
}

}  // namespace bw::sim
