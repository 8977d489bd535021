#include "common/simulator/clock/supply.hpp"

#include <algorithm>
#include <cmath>

namespace bw::sim {
namespace {

/// Sums of parts of bytes are inexact; smaller remainders cause no wait.
constexpr double kRounding = 1e-6;

}  // namespace

Supply::Supply(const DemandProfile& profile, Resource resource)
    : profile_(&profile),
      length_(static_cast<double>(profile.interval)),
      duration_(static_cast<double>(std::max<Cycle>(1, profile.duration))) {
  const double all = profile.total(resource);
  if (all == 0) return;
  const std::vector<Amounts>& intervals = profile.intervals.front();
  const size_t count = intervals.size();
  asked_.assign(count + 1, 0);
  due_.assign(count + 1, 0);
  for (size_t i = 0; i < count; ++i) {
    const auto amount = static_cast<double>(intervals[i][static_cast<size_t>(resource)]);
    asked_[i + 1] = asked_[i] + amount;
    // It is due as long as it was asked for, later: in parts of two intervals.
    const double first =
        std::min(static_cast<double>(i) + slack(i) / length_, static_cast<double>(count - 1));
    const double before = std::floor(first);
    const auto at = static_cast<size_t>(before);
    due_[at + 1] += amount * (1 - (first - before));
    due_[std::min(at + 2, count)] += amount * (first - before);
  }
  for (size_t i = 0; i < count; ++i) due_[i + 1] += due_[i];
}

size_t Supply::interval_of(double at) const {
  return std::min(static_cast<size_t>(std::max(at, 0.0) / length_), asked_.size() - 2);
}

double Supply::begin_of(size_t interval) const {
  const double begin = static_cast<double>(interval) * length_;
  return interval + 1 == asked_.size() ? std::max(duration_, begin - length_ + 1) : begin;
}

double Supply::value(const std::vector<double>& sums, double at) const {
  const size_t i = interval_of(at);
  const double begin = begin_of(i);
  const double part = std::clamp((at - begin) / (begin_of(i + 1) - begin), 0.0, 1.0);
  return sums[i] + (sums[i + 1] - sums[i]) * part;
}

double Supply::slack(size_t interval) const {
  const std::vector<float>& cycles = profile_->slack;
  return interval < cycles.size() ? static_cast<double>(cycles[interval]) : 0;
}

double Supply::speed(double at, double cycles, double later) const {
  if (asked_.empty()) return 1;
  const size_t interval = interval_of(at);
  if (asked_[interval + 1] <= asked_[interval]) return 1;
  const double before = slack(interval);
  return (cycles + before) / (cycles + std::max(before, later));
}

double Supply::wanted(double until) const {
  return asked_.empty() ? 0 : std::max(0.0, value(asked_, until) - got_);
}

double Supply::get(double bytes, double from, double to) {
  got_ += bytes;
  if (asked_.empty() || value(due_, to) <= got_ + kRounding) return to;
  // What is due grows evenly in each interval.
  for (size_t i = interval_of(from); i + 1 < due_.size(); ++i) {
    if (due_[i + 1] <= got_) continue;
    const double part = std::max(0.0, got_ - due_[i]) / (due_[i + 1] - due_[i]);
    const double at = begin_of(i) + part * (begin_of(i + 1) - begin_of(i));
    return std::clamp(at, from, to);
  }
  return to;
}

}  // namespace bw::sim
