#pragma once
/// \file
/// The remainder of a shared bandwidth over time.

#include <array>
#include <cstddef>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/l2_view.hpp"

namespace bw::sim {

/// A cluster's part of a bandwidth: buckets, one for each path, that drain at the cluster's rate.
/// Active paths have equal parts of it: a thread's load does not wait for all copies that were
/// issued ahead.
class BandwidthShare {
 public:
  /// `busy` cycles of the share are requested; returns in how many cycles they are served.
  double take(Cycle at, double busy, L2Path path);
  /// In how many cycles a path would be served if no other had anything to do.
  [[nodiscard]] double backlog(L2Path path) const { return backlogs_[static_cast<size_t>(path)]; }
  /// In how many cycles from then on all pending writes are done.
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
  /// Likewise where nothing is added.
  [[nodiscard]] double part(Cycle at, double window) const;

 private:
  Cycle last_ = 0;
  double busy_ = 0;
};

}  // namespace bw::sim
