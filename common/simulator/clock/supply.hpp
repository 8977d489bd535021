#pragma once
/// \file
/// What a cluster that ran alone reads of the resources that all clusters of the chip share: the
/// bytes that it asks for, and by when it needs them.

#include <cstddef>
#include <vector>

#include "common/simulator/clock/demand.hpp"

namespace bw::sim {

/// A cluster's bytes of one of the chip's resources, by its own time. Bytes that waited in the copy
/// engine, or for a thread to wait for them, may be late by that time.
class Supply {
 public:
  /// Of a cluster that asks for nothing.
  Supply() = default;
  /// Of a cluster with this profile, which outlives this.
  Supply(const DemandProfile& profile, Resource resource);

  /// Bytes that it asks for until a time beyond those it has got.
  [[nodiscard]] double wanted(double until) const;
  /// Its speed, 0 to 1, where a request takes `cycles` on an idle chip and is `later` by this much.
  /// As many bytes are in flight as before, so the cluster is not slower unless a request is later
  /// than its slack.
  [[nodiscard]] double speed(double at, double cycles, double later) const;
  /// It gets more bytes. Returns how far they take it, from `from` to `to`.
  [[nodiscard]] double get(double bytes, double from, double to);

 private:
  [[nodiscard]] size_t interval_of(double at) const;
  /// By how many cycles an interval's data may be late.
  [[nodiscard]] double slack(size_t interval) const;
  [[nodiscard]] double begin_of(size_t interval) const;
  [[nodiscard]] double value(const std::vector<double>& sums, double at) const;

  const DemandProfile* profile_ = nullptr;
  double length_ = 1;    ///< of an interval but the last
  double duration_ = 0;  ///< of the cluster
  // Sums at the boundaries of the intervals. None: nothing is asked for.
  std::vector<double> asked_;  ///< bytes asked for
  std::vector<double> due_;    ///< bytes that a thread waits for
  double got_ = 0;
};

}  // namespace bw::sim
