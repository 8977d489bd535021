#pragma once
/// \file
/// What a cluster reads of what all clusters of the chip share, where it ran without them: what it
/// asks for, and by when it has to have it.

#include <cstddef>
#include <vector>

#include "common/simulator/machine/timing/demand.hpp"

namespace bw::sim {

/// A cluster's bytes of one of the chip's resources, by its own time. What it asked for long before
/// anybody waited for it may come later by so much.
class Supply {
 public:
  /// Of a cluster that asks for nothing.
  Supply() = default;
  /// Of a cluster with this profile. `apart`, 0 to 1: how far those beside it are anywhere in their
  /// lives, so that all together ask for what one asks for in the mean.
  Supply(const DemandProfile& profile, Resource resource, double apart);

  /// What it asks for until a time beyond what it has got, in bytes.
  [[nodiscard]] double wanted(double until) const;
  /// It gets some more bytes. How far it comes with them, `from` at least and `to` at most.
  [[nodiscard]] double get(double bytes, double from, double to);

 private:
  [[nodiscard]] size_t interval_of(double at) const;
  [[nodiscard]] double begin_of(size_t interval) const;
  [[nodiscard]] double value(const std::vector<double>& sums, double at) const;

  double length_ = 1;    ///< of an interval but the last
  double duration_ = 0;  ///< of the cluster
  // Sums at the boundaries of the intervals. None: nothing is asked for.
  std::vector<double> asked_;  ///< bytes asked for
  std::vector<double> due_;    ///< bytes that somebody waits for
  double got_ = 0;
};

}  // namespace bw::sim
