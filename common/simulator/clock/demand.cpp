#include "common/simulator/clock/demand.hpp"

#include <algorithm>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/sm_times.hpp"

namespace bw::sim {
namespace {

/// Of most clusters: room for them is made at once.
constexpr size_t kUsualIntervals = 32;
/// Profiles of long clusters are kept in this many longer intervals at most.
constexpr size_t kMostIntervals = 512;
/// What a CTA can use in a cycle of each resource of its SM.
constexpr std::array<float, kSmResources> kMostACycle = {SmTimes::kSchedulers, 1, 1, 1, 1};

void spread(std::vector<Amounts>& intervals) {
  for (size_t resource = 0; resource < kSmResources; ++resource) {
    const float most = kMostACycle[resource] * static_cast<float>(Demand::kInterval);
    float carried = 0;
    for (Amounts& interval : intervals) {
      const float wanted = interval[resource] + carried;
      interval[resource] = std::min(wanted, most);
      carried = wanted - interval[resource];
    }
    // What a CTA sends it sends faster as long as it has its SM for itself: it is through.
    if (resource == static_cast<size_t>(Resource::sending_cycles)) continue;
    intervals.back()[resource] += carried;
  }
}

}  // namespace

double DemandProfile::total(Resource resource) const {
  double sum = 0;
  for (const auto& cta : intervals)
    for (const Amounts& amounts : cta) sum += amounts[static_cast<size_t>(resource)];
  return sum;
}

namespace {

double used_of(const std::vector<std::vector<Amounts>>& ctas, Cycle interval, Resource resource,
               Cycle from, Cycle until) {
  double sum = 0;
  for (const std::vector<Amounts>& intervals : ctas)
    for (size_t i = ceil_div(from, interval); i < intervals.size() && i * interval < until; ++i)
      sum += static_cast<double>(intervals[i][static_cast<size_t>(resource)]);
  return sum;
}

}  // namespace

double DemandProfile::used(Resource resource, Cycle from, Cycle until) const {
  return used_of(intervals, interval, resource, from, until);
}

double Demand::used(Resource resource, Cycle from, Cycle until) const {
  return used_of(ctas_, kInterval, resource, from, until);
}

void Demand::begin(uint32_t ctas, Cycle start) {
  ctas_.assign(ctas, {});
  for (std::vector<Amounts>& intervals : ctas_) intervals.reserve(kUsualIntervals);
  ends_.assign(ctas, 0);
  copies_.clear();
  copies_.reserve(kUsualIntervals);
  start_ = start;
}

void Demand::arrived(Cycle asked, uint64_t bytes, Cycle queued, Cycle early) {
  if (ctas_.empty()) return;
  const size_t interval = interval_of(asked);
  if (interval >= copies_.size()) copies_.resize(interval + 1);
  Copies& copies = copies_[interval];
  const auto weight = static_cast<float>(bytes);
  copies.bytes += weight;
  copies.byte_cycles += weight * static_cast<float>(early);
  copies.least_queued = std::min(copies.least_queued, static_cast<float>(queued));
}

std::vector<float> Demand::slack_by(size_t intervals, size_t merged) const {
  std::vector<float> slack(intervals, 0);
  for (size_t i = 0; i < intervals; ++i) {
    Copies sum;
    const size_t end = std::min((i + 1) * merged, copies_.size());
    for (size_t j = i * merged; j < end; ++j) {
      sum.bytes += copies_[j].bytes;
      sum.byte_cycles += copies_[j].byte_cycles;
      sum.least_queued = std::min(sum.least_queued, copies_[j].least_queued);
    }
    if (sum.bytes != 0) slack[i] = sum.byte_cycles / sum.bytes + sum.least_queued;
  }
  return slack;
}

std::array<double, kResources> Demand::totals(uint32_t cta_rank) const {
  std::array<double, kResources> sums{};
  if (cta_rank >= ctas_.size()) return sums;
  for (const Amounts& amounts : ctas_[cta_rank])
    for (size_t resource = 0; resource < kResources; ++resource)
      sums[resource] += amounts[resource];
  return sums;
}

std::vector<double> Demand::intervals_of(Resource resource) const {
  std::vector<double> sums;
  for (const std::vector<Amounts>& intervals : ctas_)
    for (size_t i = 0; i < intervals.size(); ++i) {
      const float amount = intervals[i][static_cast<size_t>(resource)];
      if (amount == 0) continue;
      if (sums.size() <= i) sums.resize(i + 1);
      sums[i] += static_cast<double>(amount);
    }
  return sums;
}

DemandProfile Demand::profile(Cycle duration) const {
  DemandProfile result{
      .duration = duration, .interval = kInterval, .intervals = ctas_, .ends = ends_};
  // A CTA's requests may complete after its end; then the last CTA keeps its SM until they have.
  if (!result.ends.empty()) *std::max_element(result.ends.begin(), result.ends.end()) = duration;
  const size_t count = std::max<size_t>(1, ceil_div(duration, kInterval));
  size_t merged = 1;
  while (ceil_div(count, merged) > kMostIntervals) merged *= 2;
  result.interval = kInterval * merged;
  result.slack = slack_by(ceil_div(count, merged), merged);
  for (std::vector<Amounts>& intervals : result.intervals) {
    if (intervals.empty()) continue;
    // Requests from the very end may be served after it.
    while (intervals.size() > count) {
      const Amounts last = intervals.back();
      intervals.pop_back();
      for (size_t resource = 0; resource < kResources; ++resource)
        intervals.back()[resource] += last[resource];
    }
    intervals.resize(count);
    spread(intervals);
    for (size_t i = 0; i < count && merged > 1; ++i) {
      const Amounts amounts = intervals[i];
      if (i % merged == 0) intervals[i / merged] = {};
      for (size_t resource = 0; resource < kResources; ++resource)
        intervals[i / merged][resource] += amounts[resource];
    }
    intervals.resize(ceil_div(count, merged));
  }
  return result;
}

}  // namespace bw::sim
