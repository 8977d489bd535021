#pragma once
/// \file
/// What a cluster reads of what all clusters of the chip share, where it ran without them: what it
/// asks for, and by when it has to have it.

#include <cstddef>
#include <vector>

#include "common/simulator/clock/demand.hpp"

namespace bw::sim {

/// A cluster's bytes of one of the chip's resources, by its own time. What it asked for long before
/// anybody waited for it may come later by so much.
class Supply {
 public:
  /// Of a cluster that asks for nothing.
  Supply() = default;
  /// Of a cluster with this profile, which outlives this.
  Supply(const DemandProfile& profile, Resource resource);

  /// What it asks for until a time beyond what it has got, in bytes.
  [[nodiscard]] double wanted(double until) const;
  /// How fast it is, 0 to 1, where what it asks for takes `cycles` on an idle chip and comes so
  /// much `later`. As much is under way as before, so where nobody had to wait for it, nobody has
  /// now unless it comes later than that.
  [[nodiscard]] double speed(double at, double cycles, double later) const;
  /// It gets some more bytes. How far it comes with them, `from` at least and `to` at most.
  [[nodiscard]] double get(double bytes, double from, double to);

 private:
  [[nodiscard]] size_t interval_of(double at) const;
  /// For how many cycles what it asked for in an interval was there before somebody waited for it.
  [[nodiscard]] double early(size_t interval) const;
  [[nodiscard]] double begin_of(size_t interval) const;
  [[nodiscard]] double value(const std::vector<double>& sums, double at) const;

  const DemandProfile* profile_ = nullptr;
  double length_ = 1;    ///< of an interval but the last
  double duration_ = 0;  ///< of the cluster
  // Sums at the boundaries of the intervals. None: nothing is asked for.
  std::vector<double> asked_;  ///< bytes asked for
  std::vector<double> due_;    ///< bytes that somebody waits for
  double got_ = 0;
};

}  // namespace bw::sim
