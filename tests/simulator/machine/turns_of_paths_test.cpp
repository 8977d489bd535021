/// \file
/// A cluster's part of a bandwidth, compared with its definition: in each small step of time all
/// paths that have something to do get the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "common/simulator/clock/bandwidth_share.hpp"

namespace bw::sim::turns_of_paths_test {
namespace {

constexpr double kStep = 1.0 / 64;

/// What is still to be served, by path.
class Backlogs {
 public:
  void request(L2Path path, double busy) { of(path) += busy; }
  void pass(double cycles) {
    for (double time = 0; time < cycles; time += kStep) {
      const auto waiting =
          std::count_if(left_.begin(), left_.end(), [](double l) { return l > 0; });
      for (double& left : left_) left = std::max(0.0, left - kStep / std::max<double>(1, waiting));
    }
  }
  /// In how many cycles the paths that `is_meant` are served if nothing else is requested.
  template <class IsMeant>
  [[nodiscard]] double served_in(IsMeant&& is_meant) const {
    Backlogs then = *this;
    double time = 0;
    for (size_t path = 0; path < kL2Paths; ++path)
      while (is_meant(static_cast<L2Path>(path)) && then.left_[path] > 0) {
        then.pass(kStep);
        time += kStep;
      }
    return time;
  }
  [[nodiscard]] double& of(L2Path path) { return left_[static_cast<size_t>(path)]; }

 private:
  std::array<double, kL2Paths> left_{};
};

TEST(BandwidthShare, ServesAllPathsAtOnce) {
  constexpr double kNear = 0.25;  // of the steps
  std::mt19937 random(3);
  BandwidthShare share;
  Backlogs expected;
  Cycle now = 0;
  for (int i = 0; i < 200; ++i) {
    const Cycle passed = random() % 4 == 0 ? random() % 90 : random() % 9;
    now += passed;
    expected.pass(static_cast<double>(passed));
    const auto path = static_cast<L2Path>(random() % kL2Paths);
    const double busy = random() % 20;
    EXPECT_NEAR(share.writes_left_at(now), expected.served_in(is_write), kNear) << i;
    expected.request(path, busy);
    EXPECT_NEAR(share.take(now, busy, path),
                expected.served_in([&](L2Path one) { return one == path; }), kNear)
        << i;
    for (size_t one = 0; one < kL2Paths; ++one)
      EXPECT_NEAR(share.backlog(static_cast<L2Path>(one)), expected.of(static_cast<L2Path>(one)),
                  kNear);
  }
}

TEST(BandwidthShare, ARequestOfThePastComesNow) {
  BandwidthShare share;
  EXPECT_EQ(share.take(100, 10, L2Path{}), 10);
  EXPECT_EQ(share.take(90, 5, L2Path{}), 15) << "time does not go back";
  EXPECT_EQ(share.take(104, 0, L2Path{}), 11);
}

TEST(RecentLoad, FadesOverItsWindow) {
  constexpr double kWindow = 100;
  RecentLoad load;
  EXPECT_EQ(load.add(1000, 40, kWindow), 0) << "what was before";
  EXPECT_DOUBLE_EQ(load.part(1000, kWindow), 0.4);
  EXPECT_DOUBLE_EQ(load.part(1025, kWindow), 0.3);
  EXPECT_DOUBLE_EQ(load.part(900, kWindow), 0.4);
  EXPECT_EQ(load.part(1100, kWindow), 0);
  EXPECT_EQ(load.part(2000, kWindow), 0);
  EXPECT_DOUBLE_EQ(load.add(1050, 10, kWindow), 0.2);
  EXPECT_DOUBLE_EQ(load.part(1050, kWindow), 0.3);
  EXPECT_DOUBLE_EQ(load.add(1040, 10, kWindow), 0.3) << "time does not go back";
  EXPECT_DOUBLE_EQ(load.add(1060, 0, kWindow), 0.36);
}

}  // namespace
}  // namespace bw::sim::turns_of_paths_test
