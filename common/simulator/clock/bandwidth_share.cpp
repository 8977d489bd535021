#include "common/simulator/clock/bandwidth_share.hpp"

#include <algorithm>

namespace bw::sim {

void BandwidthShare::advance(Cycle at) {
  if (at <= last_) return;
  const auto passed = static_cast<double>(at - last_);
  double left = passed;
  // Paths with something to do have equal parts, until the shortest has none.
  while (left > 0) {
    double least = 0;
    int waiting = 0;
    for (const double one : backlogs_) {
      if (one <= 0) continue;
      least = waiting == 0 ? one : std::min(least, one);
      ++waiting;
    }
    if (waiting == 0) break;
    const double each = std::min(least, left / waiting);
    for (double& one : backlogs_) one = one <= each ? 0 : one - each;
    left -= each * waiting;
  }
  last_ = at;
}

double BandwidthShare::take(Cycle at, double busy, L2Path path) {
  advance(at);
  double& own = backlogs_[static_cast<size_t>(path)];
  own += busy;
  double done = 0;  // each other path is served no more until then
  for (const double one : backlogs_) done += std::min(one, own);
  return done;
}

double BandwidthShare::writes_left_at(Cycle at) const {
  BandwidthShare then = *this;
  then.advance(at);
  double left = 0;
  for (size_t path = 0; path < kL2Paths; ++path)
    if (is_write(static_cast<L2Path>(path)))
      left = std::max(left, then.take(at, 0, static_cast<L2Path>(path)));
  return left;
}

double RecentLoad::add(Cycle at, double busy, double window) {
  if (at > last_) {
    busy_ *= std::max(0.0, 1 - static_cast<double>(at - last_) / window);
    last_ = at;
  }
  const double before = busy_;
  busy_ += busy;
  return before / window;
}

double RecentLoad::part(Cycle at, double window) const {
  const double passed = at > last_ ? static_cast<double>(at - last_) : 0;
  return busy_ * std::max(0.0, 1 - passed / window) / window;
}

}  // namespace bw::sim
