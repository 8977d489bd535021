/// \file
/// What a cluster reads of what all share, on cases that can be worked out by hand.
#include "common/simulator/clock/supply.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "common/simulator/clock/demand.hpp"

namespace bw::sim::test::supply_test {
namespace {

constexpr Cycle kInterval = 100;
constexpr auto kL2 = Resource::l2_read_bytes;

/// One CTA that reads `bytes` in each interval, and how early they were there.
DemandProfile reader(const std::vector<float>& bytes, std::vector<float> early = {}) {
  DemandProfile profile{.duration = bytes.size() * kInterval,
                        .interval = kInterval,
                        .intervals = {{}},
                        .slack = std::move(early)};
  for (const float amount : bytes) {
    profile.intervals.front().push_back({});
    profile.intervals.front().back()[static_cast<size_t>(kL2)] = amount;
  }
  return profile;
}

TEST(Supply, WantsWhatWasAskedForAndHasNotCome) {
  const DemandProfile profile = reader({1000, 0, 500});
  Supply supply(profile, kL2);
  EXPECT_DOUBLE_EQ(supply.wanted(50), 500);
  EXPECT_DOUBLE_EQ(supply.wanted(150), 1000);
  EXPECT_DOUBLE_EQ(supply.get(1000, 0, 150), 150);
  EXPECT_DOUBLE_EQ(supply.wanted(200), 0);
  EXPECT_DOUBLE_EQ(supply.wanted(300), 500);
}

TEST(Supply, WhoGetsAPartComesAsFarAsThat) {
  const DemandProfile profile = reader({1000, 0, 500});
  Supply supply(profile, kL2);
  EXPECT_DOUBLE_EQ(supply.get(250, 0, 60), 25);
  EXPECT_DOUBLE_EQ(supply.get(0, 25, 60), 25);
  EXPECT_DOUBLE_EQ(supply.get(750, 25, 200), 200);
  EXPECT_DOUBLE_EQ(supply.get(0, 200, 300), 200);
}

TEST(Supply, WhatWasEarlyMayComeLater) {
  // Asked for in the first interval, waited for two and a half later.
  const DemandProfile profile = reader({1000, 0, 0, 0, 0, 0}, {250, 0, 0, 0, 0, 0});
  Supply supply(profile, kL2);
  EXPECT_DOUBLE_EQ(supply.wanted(100), 1000);
  EXPECT_DOUBLE_EQ(supply.get(0, 0, 600), 200);
  // By the end of the third interval half is due, by the end of the fourth all.
  EXPECT_DOUBLE_EQ(supply.get(500, 200, 600), 300);
  EXPECT_DOUBLE_EQ(supply.get(250, 300, 600), 350);
}

TEST(Supply, NothingIsDueBehindTheEnd) {
  const DemandProfile profile = reader({1000, 0}, {5000, 0});
  Supply supply(profile, kL2);
  EXPECT_DOUBLE_EQ(supply.get(500, 0, 200), 150);
}

TEST(Supply, WhatComesLaterThanItWouldHaveLainThereSlowsDown) {
  // In the first interval it waits for its copies at once, those of the second are there for 300
  // cycles, in the third it asks for nothing.
  const DemandProfile profile = reader({1000, 1000, 0}, {0, 300, 0});
  const Supply supply(profile, kL2);
  constexpr double kCopy = 500;
  EXPECT_DOUBLE_EQ(supply.speed(50, kCopy, 0), 1);
  EXPECT_DOUBLE_EQ(supply.speed(50, kCopy, 500), 0.5);
  EXPECT_DOUBLE_EQ(supply.speed(150, kCopy, 300), 1);
  EXPECT_DOUBLE_EQ(supply.speed(150, kCopy, 1100), 0.5);
  EXPECT_DOUBLE_EQ(supply.speed(250, kCopy, 1000), 1);
}

TEST(Supply, AsksForNothing) {
  Supply none;
  EXPECT_DOUBLE_EQ(none.wanted(100), 0);
  EXPECT_DOUBLE_EQ(none.get(0, 0, 100), 100);
  EXPECT_DOUBLE_EQ(none.speed(0, 500, 500), 1);
  const DemandProfile profile = reader({0, 0});
  Supply of_nothing(profile, kL2);
  EXPECT_DOUBLE_EQ(of_nothing.get(0, 0, 200), 200);
}

TEST(Demand, TellsHowEarlyCopiesWereInTheMeanOfTheirBytes) {
  constexpr Cycle kStart = 5000;
  Demand demand;
  demand.begin(1, kStart);
  demand.use(Resource::l2_read_bytes, 0, kStart, 4000);
  demand.arrived(kStart + 10, 1000, 0, 400);
  demand.arrived(kStart + 20, 3000, 0, 0);
  demand.arrived(kStart + 2 * Demand::kInterval, 100, 0, 70);
  const DemandProfile profile = demand.profile(4 * Demand::kInterval);
  EXPECT_EQ(profile.slack, (std::vector<float>{100, 0, 70, 0}));
}

TEST(Demand, TheLeastTimeInTheEngineCounts) {
  Demand demand;
  demand.begin(1, 0);
  demand.use(Resource::l2_read_bytes, 0, 0, 4000);
  demand.arrived(10, 1000, 0, 40);
  demand.arrived(20, 1000, 500, 0);
  demand.arrived(Demand::kInterval, 1000, 700, 0);
  demand.arrived(Demand::kInterval, 3000, 900, 40);
  const DemandProfile profile = demand.profile(3 * Demand::kInterval);
  EXPECT_EQ(profile.slack, (std::vector<float>{20, 730, 0}));
}

TEST(Demand, WhatAnSmCannotGiveAtOnceComesInTheFollowingIntervals) {
  const auto amounts_of = [](size_t resource, Cycle at, float amount) {
    Demand demand;
    demand.begin(1, 0);
    demand.add(static_cast<Resource>(resource), 0, at, amount);
    std::vector<float> amounts;
    const DemandProfile profile = demand.profile(4 * Demand::kInterval);
    for (const Amounts& all : profile.intervals.front()) amounts.push_back(all[resource]);
    return amounts;
  };
  for (size_t resource = 0; resource < kSmResources; ++resource) {
    SCOPED_TRACE(resource);
    constexpr auto kSlots = static_cast<size_t>(Resource::issue_slots);
    const float most = (resource == kSlots ? 4 : 1) * static_cast<float>(Demand::kInterval);
    EXPECT_EQ(amounts_of(resource, 0, 2.5F * most), (std::vector{most, most, most / 2, 0.0F}));
    // At the end the rest remains, but what is sent is through by then.
    const bool is_sent = resource == static_cast<size_t>(Resource::sending_cycles);
    EXPECT_EQ(amounts_of(resource, 3 * Demand::kInterval, 2 * most),
              (std::vector{0.0F, 0.0F, 0.0F, is_sent ? most : 2 * most}));
  }
}

TEST(Demand, NoByteIsLostWhereIntervalsAreLonger) {
  constexpr Cycle kStart = 5000, kIntervals = 1024;
  Demand demand;
  demand.begin(2, kStart);
  const auto read = [&](Cycle interval, uint64_t bytes) {
    demand.use(Resource::hbm_bytes, 1, kStart + interval * Demand::kInterval, bytes);
  };
  read(0, 100);
  read(1, 200);
  read(kIntervals - 1, 300);
  read(kIntervals + 5, 400);  // after its end
  EXPECT_EQ(demand.used(Resource::hbm_bytes, 0, Demand::kInterval), 100);
  EXPECT_EQ(demand.used(Resource::hbm_bytes, 1, Demand::kInterval + 1), 200);
  const DemandProfile profile = demand.profile(kIntervals * Demand::kInterval);
  ASSERT_EQ(profile.intervals[1].size(), kIntervals / 2);
  EXPECT_EQ(profile.total(Resource::hbm_bytes), 1000);
  EXPECT_EQ(profile.used(Resource::hbm_bytes, 0, 2 * Demand::kInterval), 300);
  EXPECT_EQ(profile.used(Resource::hbm_bytes, (kIntervals - 2) * Demand::kInterval,
                         kIntervals * Demand::kInterval),
            700);
}

TEST(Demand, LongClustersTellItByLongerIntervals) {
  Demand demand;
  demand.begin(1, 0);
  demand.use(Resource::l2_read_bytes, 0, 0, 4000);
  demand.arrived(0, 100, 0, 300);
  demand.arrived(Demand::kInterval, 200, 0, 0);
  const DemandProfile profile = demand.profile(1024 * Demand::kInterval);
  EXPECT_EQ(profile.interval, 2 * Demand::kInterval);
  ASSERT_EQ(profile.slack.size(), 512u);
  EXPECT_FLOAT_EQ(profile.slack.front(), 100);
}

}  // namespace
}  // namespace bw::sim::test::supply_test
