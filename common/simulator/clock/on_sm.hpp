#pragma once
/// \file
/// CTAs that share an SM, where each ran as if it were alone there: how they hold each other up.

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/simulator/clock/demand.hpp"

namespace bw::sim {

/// What CTAs want of an SM's resources, as parts of what there is. Behind them what its shared
/// memory moves in all: what threads and MMAs access, and part of what copies bring.
inline constexpr size_t kShared = kSmResources + 1;
/// Of each, what a CTA wants in the mean of a step.
using Wants = std::array<double, kShared>;

/// The CTAs of an SM in a step. Who finds a resource in use waits until it is free, before it is
/// full: two CTAs that use a unit half of the time feel each other.
class OnSm {
 public:
  /// A CTA is there that wants this.
  void add(const Wants& wants) {
    ++ctas_;
    for (size_t r = 0; r < kShared; ++r) {
      sums_[r] += wants[r];
      users_[r] += wants[r] > 0 ? 1 : 0;
    }
  }

  /// How long one waits for the others, as if all wanted the same: who comes finds what would be
  /// there without him, and of what is being served half is left (mean value analysis, of one CTA,
  /// two and so on).
  void find_waits() {
    for (int others = 1; others < ctas_; ++others) {
      double time = 1;
      for (size_t r = 0; r < kShared; ++r) time += sums_[r] / ctas_ * waits_[r];
      for (const double sum : sums_) time = std::max(time, others * sum / ctas_);
      for (size_t r = 0; r < kShared; ++r)
        waits_[r] = others / time * sums_[r] / ctas_ * (waits_[r] + kLeft);
    }
  }

  /// The speed, 0 to 1, of one of them, which wants this.
  [[nodiscard]] double speed_of(const Wants& wants) const {
    if (ctas_ == 0) return 1;
    double time = 1;
    for (size_t r = 0; ctas_ > 1 && r < kShared; ++r) {
      // What it finds comes from the others only.
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

  /// Where CTAs want more than there is they take turns: who wants less waits less.
  [[nodiscard]] double fair_speed(double want, size_t r) const {
    return 1 / (1 + want * (sums_[r] - 1) * users_[r] / sums_[r]);
  }

  int ctas_ = 0;
  Wants sums_{};
  std::array<int, kShared> users_{};  ///< CTAs that want something of a resource
  Wants waits_{};                     ///< as parts of one's own use
};

}  // namespace bw::sim
