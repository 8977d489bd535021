#pragma once
/// \file
/// Contention of CTAs that share an SM, each of which was run as if it were alone there.

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/simulator/clock/demand.hpp"

namespace bw::sim {

/// Demand of CTAs for an SM's resources, as fractions of capacity. The last one is shared memory's
/// total: accesses of threads and MMAs, and part of the bytes of copies.
inline constexpr size_t kShared = kSmResources + 1;
/// A CTA's average demand for each in a step.
using Wants = std::array<double, kShared>;

/// The CTAs of an SM in a step. A resource in use delays others even before it is saturated: two
/// CTAs that use a unit half of the time slow each other down.
class SmContention {
 public:
  /// Adds a CTA with this demand.
  void add(const Wants& wants) {
    ++ctas_;
    for (size_t r = 0; r < kShared; ++r) {
      sums_[r] += wants[r];
      users_[r] += wants[r] > 0 ? 1 : 0;
    }
  }

  /// How long one waits for the others, as if all had the same demand: an arrival meets the load
  /// that there is without it, and half of the request being served remains (mean value analysis,
  /// of one CTA, two and so on).
  void find_waits() {
    for (int others = 1; others < ctas_; ++others) {
      double time = 1;
      for (size_t r = 0; r < kShared; ++r) time += sums_[r] / ctas_ * waits_[r];
      for (const double sum : sums_) time = std::max(time, others * sum / ctas_);
      for (size_t r = 0; r < kShared; ++r)
        waits_[r] = others / time * sums_[r] / ctas_ * (waits_[r] + kLeft);
    }
  }

  /// The speed, 0 to 1, of one of them, which has this demand.
  [[nodiscard]] double speed_of(const Wants& wants) const {
    if (ctas_ == 0) return 1;
    double time = 1;
    for (size_t r = 0; ctas_ > 1 && r < kShared; ++r) {
      // Its delay comes from the others only.
      const double all = sums_[r] * (ctas_ - 1);
      if (all > 0) time += wants[r] * waits_[r] * (sums_[r] - wants[r]) * ctas_ / all;
    }
    double speed = 1 / time;
    for (size_t r = 0; r < kShared; ++r) {
      if (wants[r] > 1) speed = std::min(speed, 1 / wants[r]);
      if (sums_[r] > 1) speed = std::min(speed, fair_speed(wants[r], r));
    }
    return speed;
  }

 private:
  static constexpr double kLeft = 0.5;  ///< of what is being served

  /// Where demand exceeds capacity, CTAs take turns: the less one demands, the less it waits.
  [[nodiscard]] double fair_speed(double want, size_t r) const {
    return 1 / (1 + want * (sums_[r] - 1) * users_[r] / sums_[r]);
  }

  int ctas_ = 0;
  Wants sums_{};
  std::array<int, kShared> users_{};  ///< CTAs that use each resource
  Wants waits_{};                     ///< as fractions of one's own use
};

}  // namespace bw::sim
