/// \file
/// What clusters read together, on launches that can be worked out by hand.
#include "common/simulator/clock/launch_reads.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim::test {
namespace {

constexpr uint64_t kKey = 7;
constexpr double kBytes = 8192;
constexpr Cycle kDuration = 2000;

const TimingTable& times() { return times_of(*find_machine("h100")); }

/// A launch whose clusters begin then, and take so many times as long as alone.
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

/// Each cluster reads the same, so many cycles from its start.
LaunchReads same(uint64_t clusters, uint64_t resident, Cycle at) {
  LaunchReads reads(clusters, resident);
  for (uint64_t i = 0; i < clusters; ++i) reads.add(i, {{.key = kKey, .at = at, .bytes = kBytes}});
  return reads;
}

TEST(LaunchReads, WhoAsksWhileLinesAreOnTheirWayGetsThem) {
  const LaunchReads two = same(2, 2, 100);
  const auto window = static_cast<double>(times().l2_merge_cycles);
  EXPECT_EQ(parts(two, launch({0, 0})).front(), 0.5);
  EXPECT_EQ(parts(two, launch({0, window})).front(), 0.5);
  EXPECT_EQ(parts(two, launch({0, window + 1})).front(), 1);
  // On a busy chip that takes longer.
  LaunchTime busy = launch({0, window + 1});
  busy.l2_queue = 2000;
  EXPECT_EQ(parts(two, busy).front(), 0.5);
}

TEST(LaunchReads, TheFirstOfManySetsTheTime) {
  // They come one behind the other: each third one is too late for the one before it that asked.
  const auto apart = 0.4 * static_cast<double>(times().l2_merge_cycles);
  std::vector<double> begins;
  for (int i = 0; i < 9; ++i) begins.push_back(i * apart);
  EXPECT_NEAR(parts(same(9, 9, 0), launch(begins)).front(), 1.0 / 3, 1e-12);
}

TEST(LaunchReads, ThroughDifferentPortsLinesComeTwice) {
  LaunchTime time = launch({0, 0});
  time.lives[1].port = 1;
  EXPECT_EQ(parts(same(2, 2, 0), time), (std::vector<double>{1, 1}));
}

TEST(LaunchReads, WhoTakesLongerReadsLater) {
  LaunchReads reads(2, 2);
  reads.add(0, {{.key = kKey, .at = 1000, .bytes = kBytes}});
  reads.add(1, {{.key = kKey, .at = 1200, .bytes = kBytes}});
  EXPECT_EQ(parts(reads, launch({0, 0})).front(), 0.5);
  // 200 cycles of their own are 800 then.
  EXPECT_EQ(parts(reads, launch({0, 0}, 4)).front(), 1);
}

TEST(LaunchReads, EachWaveHasItsOwnPart) {
  LaunchReads reads = same(4, 2, 0);
  EXPECT_EQ(parts(reads, launch({0, 0, 2500, 4000})), (std::vector<double>{0.5, 0.5, 1, 1}));
  // The second wave reads something else besides.
  for (const uint64_t cluster : {2, 3})
    reads.add(cluster, {{.key = kKey + cluster, .at = 10, .bytes = 3 * kBytes}});
  const std::vector<double> found = parts(reads, launch({0, 0, 2500, 2500}));
  EXPECT_EQ(found[2], 7.0 / 8);
  EXPECT_EQ(found[3], 7.0 / 8);
}

TEST(LaunchReads, AWaveWhoseLinesAreOnTheirWayReadsNone) {
  EXPECT_EQ(parts(same(3, 2, 0), launch({0, 0, 100})), (std::vector<double>{0.5, 0.5, 0}));
}

TEST(LaunchReads, WhoFollowsGoesAnywhere) {
  // The places of a wave lie in eight GPCs one after the other. Eight neighbours that read the same
  // meet nobody at first; later a third meets another one there by chance.
  constexpr uint64_t kResident = 128, kNeighbours = 8;
  LaunchReads reads(2 * kResident, kResident);
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
  EXPECT_NEAR(second, 0.66, 0.05);
}

TEST(LaunchReads, WhoHasReadNothingIsWhole) {
  const LaunchReads none(3, 2);
  EXPECT_EQ(parts(none, launch({0, 0, 100})), (std::vector<double>{1, 1, 1}));
}

}  // namespace
}  // namespace bw::sim::test
