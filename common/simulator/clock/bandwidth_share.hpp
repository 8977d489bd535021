#pragma once
/// \file
/// What is left of a bandwidth that is shared, by time.

#include <array>
#include <cstddef>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/l2_view.hpp"

namespace bw::sim {

/// A cluster's part of a bandwidth: buckets, one for each path, that run empty at the rate that the
/// cluster may have. Paths with something to do have equal parts of it: a thread's load does not
/// wait for all copies that were issued ahead.
class BandwidthShare {
 public:
  /// `busy` cycles of the share are asked for at a time; in how many cycles that is done.
  double take(Cycle at, double busy, L2Path path);
  /// In how many cycles a path would have all that was asked for if no other had anything to do.
  [[nodiscard]] double backlog(L2Path path) const { return backlogs_[static_cast<size_t>(path)]; }
  /// In how many cycles from then on all that was to be written is.
  [[nodiscard]] double writes_left_at(Cycle at) const;

 private:
  void advance(Cycle at);

  Cycle last_ = 0;
  std::array<double, kL2Paths> backlogs_{};
};

/// How busy something was recently.
class RecentLoad {
 public:
  /// It is busy for `busy` cycles more. How much of the `window` cycles before it was, 0 to 1 where
  /// it keeps up: recent times count most.
  double add(Cycle at, double busy, double window);
  /// The same where nothing is added.
  [[nodiscard]] double part(Cycle at, double window) const;

 private:
  Cycle last_ = 0;
  double busy_ = 0;
};

}  // namespace bw::sim
