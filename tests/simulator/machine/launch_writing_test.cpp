/// \file
/// What CTAs have stored and the L2 cache has not taken yet when they end: the launch waits for it.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "common/simulator/clock/l2_launch.hpp"
#include "common/simulator/clock/launch_time.hpp"

namespace bw::sim::test {
namespace {

TEST(BandwidthShare, WritesThatAreLeftAreDoneInTime) {
  BandwidthShare share;
  EXPECT_EQ(share.writes_left_at(100), 0);
  share.take(100, 300, L2Path::tma_store);
  EXPECT_EQ(share.writes_left_at(100), 300);
  EXPECT_EQ(share.writes_left_at(250), 150);
  EXPECT_EQ(share.writes_left_at(1000), 0);
}

TEST(BandwidthShare, ReadsAreNotWaitedForButAreServedBeside) {
  BandwidthShare share;
  share.take(0, 500, L2Path::tma_load);
  EXPECT_EQ(share.writes_left_at(0), 0);
  share.take(0, 100, L2Path::tma_store);
  EXPECT_EQ(share.writes_left_at(0), 200);
}

TEST(LaunchTime, WhatWasWrittenAheadOfTheBandwidthIsOnItsWay) {
  constexpr Cycle kInterval = 512;
  constexpr float kWrittenACycle = 60;
  LaunchCapacity capacity{.places = 2,
                          .ctas_per_cluster = 1,
                          .sms = 2,
                          .a_cycle = {4, 1, 1, 1, 1, 100, kWrittenACycle, 50}};
  capacity.credit = kInterval;
  DemandProfile profile{.duration = kInterval, .interval = kInterval, .intervals = {{{}}}};
  Amounts& amounts = profile.intervals.front().front();
  amounts[static_cast<size_t>(Resource::l2_written_bytes)] = 1.5F * kWrittenACycle * kInterval;
  const LaunchTime time = launch_time(std::vector{profile}, capacity);
  EXPECT_EQ(time.cycles, kInterval);
  EXPECT_NEAR(static_cast<double>(time.writing), kInterval / 2.0, 1);
  amounts = {};
  EXPECT_EQ(launch_time(std::vector{profile}, capacity).writing, 0u);
}

}  // namespace
}  // namespace bw::sim::test
