/// \file
/// What a cluster asked for, by intervals of its time: the sums of what was noted, by hand.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/sm_times.hpp"

namespace bw::sim::use_by_intervals_test {
namespace {

constexpr Cycle kStart = 1000, kInterval = Demand::kInterval;

float amount(const DemandProfile& profile, Resource resource, size_t cta, size_t interval) {
  return profile.intervals[cta][interval][static_cast<size_t>(resource)];
}

TEST(Demand, IsCountedWhereItsTimeFalls) {
  Demand demand;
  demand.begin(2, kStart);
  EXPECT_EQ(demand.ctas(), 2u);
  EXPECT_EQ(demand.start(), kStart);
  EXPECT_TRUE(demand.intervals_of(Resource::hbm_bytes).empty());
  demand.use(Resource::hbm_bytes, 0, kStart - 10, 1);  // before the start: at the start
  demand.use(Resource::hbm_bytes, 0, kStart + kInterval - 1, 2);
  demand.use(Resource::hbm_bytes, 1, kStart + kInterval, 4);
  demand.use(Resource::hbm_bytes, 1, kStart + 3 * kInterval, 8);
  demand.use(Resource::l2_read_bytes, 1, kStart, 16);
  demand.use(Resource::hbm_bytes, 2, kStart, 1000);  // not a CTA of the cluster
  EXPECT_EQ(demand.intervals_of(Resource::hbm_bytes), (std::vector<double>{3, 4, 0, 8}));
  EXPECT_EQ(demand.intervals_of(Resource::l2_read_bytes), (std::vector<double>{16}));
  EXPECT_EQ(demand.totals(1)[static_cast<size_t>(Resource::hbm_bytes)], 12);
  EXPECT_EQ(demand.totals(2)[static_cast<size_t>(Resource::hbm_bytes)], 0);
  // Intervals that begin from `from` on and before `until`.
  EXPECT_EQ(demand.used(Resource::hbm_bytes, 0, kInterval), 3);
  EXPECT_EQ(demand.used(Resource::hbm_bytes, 0, kInterval + 1), 7);
  EXPECT_EQ(demand.used(Resource::hbm_bytes, 1, kInterval), 0);
  EXPECT_EQ(demand.used(Resource::hbm_bytes, 1, 4 * kInterval), 12);
  EXPECT_EQ(demand.used(Resource::hbm_bytes, kInterval, 4 * kInterval), 12);
  demand.begin(1, 0);
  EXPECT_EQ(demand.totals(0)[static_cast<size_t>(Resource::hbm_bytes)], 0);
}

TEST(Demand, AProfileEndsWithItsCluster) {
  Demand demand;
  demand.begin(3, kStart);
  demand.end(0, kStart + 700);
  demand.end(1, kStart + 900);
  demand.use(Resource::hbm_bytes, 0, kStart + kInterval, 2);
  demand.use(Resource::hbm_bytes, 0, kStart + 5 * kInterval, 3);  // served after the end
  const DemandProfile profile = demand.profile(kInterval + 1);
  EXPECT_EQ(profile.duration, kInterval + 1);
  EXPECT_EQ(profile.interval, kInterval);
  EXPECT_EQ(profile.ends, (std::vector<Cycle>{700, kInterval + 1, 0}));
  ASSERT_EQ(profile.intervals[0].size(), 2u);
  EXPECT_TRUE(profile.intervals[1].empty());
  EXPECT_EQ(amount(profile, Resource::hbm_bytes, 0, 0), 0);
  EXPECT_EQ(amount(profile, Resource::hbm_bytes, 0, 1), 5);
  EXPECT_EQ(profile.total(Resource::hbm_bytes), 5);
  EXPECT_EQ(profile.used(Resource::hbm_bytes, 0, kInterval), 0);
  EXPECT_EQ(profile.used(Resource::hbm_bytes, 0, kInterval + 1), 5);
  EXPECT_EQ(demand.profile(0).intervals[0].size(), 1u);
}

/// A unit does no more than it can in an interval; the rest follows. Only of what a CTA sends the
/// rest at the end is omitted.
TEST(Demand, MoreThanAUnitCanDoMovesOn) {
  constexpr auto kMost = static_cast<float>(kInterval);
  Demand demand;
  demand.begin(1, 0);
  demand.add(Resource::issue_slots, 0, 0, SmTimes::kSchedulers * kMost + 7);
  demand.add(Resource::tensor_cycles, 0, 0, 5 * kMost);
  demand.add(Resource::sending_cycles, 0, 0, 5 * kMost);
  demand.add(Resource::hbm_bytes, 0, 0, 5 * kMost);
  demand.use(Resource::hbm_bytes, 0, 2 * kInterval, 1);
  const DemandProfile profile = demand.profile(3 * kInterval);
  ASSERT_EQ(profile.intervals[0].size(), 3u);
  const auto all = [&](Resource resource) {
    return std::vector<float>{amount(profile, resource, 0, 0), amount(profile, resource, 0, 1),
                              amount(profile, resource, 0, 2)};
  };
  EXPECT_EQ(all(Resource::issue_slots), (std::vector<float>{SmTimes::kSchedulers * kMost, 7, 0}));
  EXPECT_EQ(all(Resource::tensor_cycles), (std::vector<float>{kMost, kMost, 3 * kMost}));
  EXPECT_EQ(all(Resource::sending_cycles), (std::vector<float>{kMost, kMost, kMost}));
  EXPECT_EQ(all(Resource::hbm_bytes), (std::vector<float>{5 * kMost, 0, 1}));
}

TEST(Demand, ALongClusterHasLongerIntervals) {
  constexpr size_t kCount = 2000, kMerged = 4;  // at most 512 of four
  Demand demand;
  demand.begin(2, kStart);
  for (size_t i = 0; i < kCount; ++i)
    demand.use(Resource::hbm_bytes, i % 2, kStart + i * kInterval, i + 1);
  demand.arrived(kStart + 5 * kInterval, 100, 7, 30);
  demand.arrived(kStart + 6 * kInterval, 300, 9, 10);
  const DemandProfile profile = demand.profile(kCount * kInterval);
  EXPECT_EQ(profile.interval, kMerged * kInterval);
  for (const size_t cta : {0u, 1u}) {
    ASSERT_EQ(profile.intervals[cta].size(), kCount / kMerged);
    for (size_t i = 0; i < kCount / kMerged; ++i) {
      const size_t first = i * kMerged + cta;  // and the second one after it
      EXPECT_EQ(amount(profile, Resource::hbm_bytes, cta, i),
                static_cast<float>(first + 1 + first + 3))
          << i;
    }
  }
  EXPECT_EQ(profile.total(Resource::hbm_bytes), kCount * (kCount + 1) / 2.0);
  // On average over their bytes the copies came 15 cycles early, after 7 in the engine.
  ASSERT_EQ(profile.slack.size(), kCount / kMerged);
  EXPECT_EQ(profile.slack[0], 0);
  EXPECT_EQ(profile.slack[1], 15 + 7);
  EXPECT_EQ(profile.slack[2], 0);
}

}  // namespace
}  // namespace bw::sim::use_by_intervals_test
