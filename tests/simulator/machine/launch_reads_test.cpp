/// \file
/// What clusters read together, on launches that can be worked out by hand.
#include "common/simulator/clock/launch_reads.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/clock/merged_reads.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim::test::launch_reads_test {
namespace {

constexpr uint64_t kKey = 7;
constexpr double kBytes = 8192;
constexpr Cycle kDuration = 2000;

const TimingTable& times() { return times_of(*find_machine("h100")); }

/// What reaches the cache of a byte that is read together with another one then: SMs drift apart.
double left(double at) { return 1 - merged_part(times(), at); }

/// A launch whose clusters begin then, and take this factor longer than alone.
LaunchTime launch(const std::vector<double>& begins, double longer = 1) {
  LaunchTime time;
  for (const double begin : begins)
    time.lives.push_back({.begin = begin, .end = begin + longer * kDuration});
  return time;
}

std::vector<double> parts(const LaunchReads& reads, const LaunchTime& time) {
  return reads.parts(
      times(), time,
      std::vector(time.lives.size(), DemandProfile{.duration = kDuration, .intervals = {}}));
}

/// Each cluster reads the same, this many cycles after its start.
LaunchReads same(uint64_t clusters, uint64_t resident, Cycle at, bool ctas_share_sms = false) {
  LaunchReads reads(clusters, resident, ctas_share_sms);
  for (uint64_t i = 0; i < clusters; ++i) reads.add(i, {{.key = kKey, .at = at, .bytes = kBytes}});
  return reads;
}

TEST(LaunchReads, WhoAsksWhileLinesAreOnTheirWayGetsThem) {
  const LaunchReads two = same(2, 2, 100);
  const auto window = static_cast<double>(times().l2_merge_cycles);
  EXPECT_DOUBLE_EQ(parts(two, launch({0, 0})).front(), (1 + left(100)) / 2);
  EXPECT_DOUBLE_EQ(parts(two, launch({0, window})).front(), (1 + left(100 + window)) / 2);
  EXPECT_EQ(parts(two, launch({0, window + 1})).front(), 1);
  // On a busy chip that takes longer.
  LaunchTime busy = launch({0, window + 1});
  busy.l2_queue = 2000;
  EXPECT_DOUBLE_EQ(parts(two, busy).front(), (1 + left(101 + window)) / 2);
}

TEST(LaunchReads, WhereCtasShareSmsMoreIsReadTogether) {
  // Long after the beginning only drifting matters: half of what it keeps apart is merged.
  constexpr Cycle kLate = 1'000'000;
  const auto reached = [&](bool ctas_share_sms) {
    return parts(same(2, 2, kLate, ctas_share_sms), launch({0, 0})).front();
  };
  const double apart = 1 - times().l2_merge_part;
  EXPECT_NEAR(reached(false), (1 + apart) / 2, 1e-6);
  EXPECT_NEAR(reached(true), (1 + apart / 2) / 2, 1e-6);
  // At the beginning all read together in any case.
  EXPECT_EQ(parts(same(2, 2, 0, true), launch({0, 0})), parts(same(2, 2, 0), launch({0, 0})));
}

TEST(LaunchReads, TheFirstOfManySetsTheTime) {
  // They come one after the other: each third one is too late for the previous request.
  const auto apart = 0.4 * static_cast<double>(times().l2_merge_cycles);
  std::vector<double> begins;
  for (int i = 0; i < 9; ++i) begins.push_back(i * apart);
  double reached = 0;
  for (size_t i = 0; i < begins.size(); ++i) reached += i % 3 == 0 ? 1 : left(begins[i]);
  EXPECT_NEAR(parts(same(9, 9, 0), launch(begins)).front(), reached / 9, 1e-12);
}

TEST(LaunchReads, ThroughDifferentPortsLinesComeTwice) {
  LaunchTime time = launch({0, 0});
  time.lives[1].port = 1;
  EXPECT_EQ(parts(same(2, 2, 0), time), (std::vector<double>{1, 1}));
}

TEST(LaunchReads, WhoTakesLongerReadsLater) {
  LaunchReads reads(2, 2, false);
  reads.add(0, {{.key = kKey, .at = 1000, .bytes = kBytes}});
  reads.add(1, {{.key = kKey, .at = 1200, .bytes = kBytes}});
  EXPECT_DOUBLE_EQ(parts(reads, launch({0, 0})).front(), (1 + left(1200)) / 2);
  // 200 cycles of their own are 800 then.
  EXPECT_EQ(parts(reads, launch({0, 0}, 4)).front(), 1);
}

TEST(LaunchReads, EachWaveHasItsOwnPart) {
  LaunchReads reads = same(4, 2, 0);
  const double first = (1 + left(0)) / 2;
  EXPECT_EQ(parts(reads, launch({0, 0, 2500, 4000})), (std::vector<double>{first, first, 1, 1}));
  // The second wave reads something else in addition.
  for (const uint64_t cluster : {2, 3})
    reads.add(cluster, {{.key = kKey + cluster, .at = 10, .bytes = 3 * kBytes}});
  const std::vector<double> found = parts(reads, launch({0, 0, 2500, 2500}));
  EXPECT_DOUBLE_EQ(found[2], (7 + left(2500)) / 8);
  EXPECT_DOUBLE_EQ(found[3], (7 + left(2500)) / 8);
}

TEST(LaunchReads, AWaveWhoseLinesAreOnTheirWayReadsFew) {
  const double first = (1 + left(0)) / 2;
  EXPECT_EQ(parts(same(3, 2, 0), launch({0, 0, 100})),
            (std::vector<double>{first, first, left(100)}));
}

TEST(LaunchReads, WhoFollowsGoesAnywhere) {
  // The places of a wave are in eight GPCs one after the other. Eight neighbours that read the same
  // share a GPC with no other at first; later a third of them do, at random.
  constexpr uint64_t kResident = 128, kNeighbours = 8;
  LaunchReads reads(2 * kResident, kResident, false);
  LaunchTime time;
  for (uint64_t i = 0; i < 2 * kResident; ++i) {
    reads.add(i, {{.key = i / kNeighbours, .bytes = kBytes}});
    const double begin = i < kResident ? 0 : kDuration;
    time.lives.push_back(
        {.begin = begin, .end = begin + kDuration, .port = static_cast<uint32_t>(i % kNeighbours)});
  }
  const std::vector<double> found = parts(reads, time);
  double second = 0;
  for (uint64_t i = 0; i < kResident; ++i) {
    EXPECT_EQ(found[i], 1) << i;
    second += found[kResident + i] / kResident;
  }
  EXPECT_NEAR(second, 1 - 0.34 * merged_part(times(), kDuration), 0.05);
}

TEST(LaunchReads, WhoHasReadNothingIsWhole) {
  const LaunchReads none(3, 2, false);
  EXPECT_EQ(parts(none, launch({0, 0, 100})), (std::vector<double>{1, 1, 1}));
}

}  // namespace
}  // namespace bw::sim::test::launch_reads_test
