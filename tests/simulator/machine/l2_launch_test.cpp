/// \file
/// What clusters find in the L2 cache, whatever order they run in, and what they wait for.
#include "common/simulator/clock/l2_launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::l2_launch_test {
namespace {

constexpr uint64_t kKilobyte = 1024;
constexpr uint64_t kMegabyte = kKilobyte * kKilobyte;

/// What remains of an amount of a resource that a cluster counted, once all amounts are known.
double corrected(const L2Launch& launch, uint64_t cluster, Resource resource, float amount) {
  DemandProfile profile{.duration = 512, .interval = 512, .intervals = {{Amounts{}}}};
  profile.intervals[0][0][static_cast<size_t>(resource)] = amount;
  launch.correct(cluster, profile);
  return profile.total(resource);
}

/// A device's memory and cache, and a launch of clusters that are told what to touch.
class L2LaunchTest : public ::testing::Test {
 protected:
  struct RunningCluster {
    Demand demand;
    L2View view;
  };

  L2Launch launch(uint64_t clusters, uint64_t resident) {
    return {times_, cache_, {.clusters = clusters, .resident = resident}};
  }
  /// Of one wave: its clusters advance in steps.
  static L2Launch::Shape steps(uint64_t clusters) {
    return {.clusters = clusters,
            .resident = clusters,
            .in_steps = true,
            .places = places_of(*find_machine("h100"), 132, 1)};
  }
  std::unique_ptr<RunningCluster> start(L2Launch& launch, uint64_t index) {
    auto cluster = std::make_unique<RunningCluster>();
    cluster->demand.begin(1, 0);
    cluster->view.begin(launch, cluster->demand, index, index, 0);
    return cluster;
  }
  /// The view of a cluster that the test need not end.
  L2View& start_in(L2Launch& launch, uint64_t place) {
    return started_.emplace_back(start(launch, place))->view;
  }
  /// Rows that are a kilobyte apart.
  static L2Rows rows_at(uint64_t address, uint64_t row_bytes, uint64_t rows) {
    return {.first = address, .row_bytes = row_bytes, .pitch_bytes = kKilobyte, .rows = rows};
  }
  static uint64_t missed(RunningCluster& cluster, uint64_t address, uint64_t bytes) {
    return cluster.view.touch(address, bytes, 0, L2Path::tma_load).miss_bytes;
  }

  const TimingTable& times_ = times_of(*find_machine("h100"));
  DeviceMemory memory_{size_t{1} << 30};
  L2Cache cache_{50 * kMegabyte, 20 * kMegabyte};
  /// From the first byte of a page on.
  uint64_t data_ = align_up(memory_.allocate(201 * kMegabyte, "data"), kL2PageBytes);
  std::vector<std::unique_ptr<RunningCluster>> started_;
};

TEST_F(L2LaunchTest, ALineMissesOnce) {
  L2Launch one = launch(1, 1);
  const auto cluster = start(one, 0);
  EXPECT_EQ(missed(*cluster, data_, 256), 256u);
  EXPECT_EQ(missed(*cluster, data_ + 128, 256), 128u);
  EXPECT_EQ(missed(*cluster, data_ + 200, 100), 0u);
  EXPECT_EQ(missed(*cluster, data_ + 500, 24), 24u);  // of its line, no more than was asked for
  // Rows of a box: 64 lines that are 1000 bytes apart.
  EXPECT_EQ(
      cluster->view.touch_rows(rows_at(data_ + kMegabyte, 128, 64), 0, L2Path::tma_load).miss_bytes,
      64u * 128);
  EXPECT_EQ(missed(*cluster, data_ + kMegabyte + 63 * 1024, 128), 0u);
  EXPECT_EQ(missed(*cluster, data_ + kMegabyte + 128, 128), 128u);
}

TEST_F(L2LaunchTest, WhatTheHostOrALaunchBeforeHasWrittenIsThere) {
  cache_.write(data_, 64 * kKilobyte);
  {
    L2Launch first = launch(1, 1);
    const auto cluster = start(first, 0);
    EXPECT_EQ(missed(*cluster, data_, 64 * kKilobyte), 0u);
    cluster->view.touch(data_ + kMegabyte, kKilobyte, 0, L2Path::thread_store);
    first.finish(0, cluster->view);
  }
  L2Launch second = launch(1, 1);
  const auto cluster = start(second, 0);
  EXPECT_EQ(missed(*cluster, data_ + kMegabyte, kKilobyte), 0u);
  EXPECT_EQ(missed(*cluster, data_ + kMegabyte + kKilobyte, kKilobyte), kKilobyte);
}

TEST_F(L2LaunchTest, WhatIsLargerThanTheCacheDrivesOutTheOldest) {
  cache_.write(data_, kMegabyte);
  cache_.write(data_ + kMegabyte, 50 * kMegabyte);
  L2Launch one = launch(1, 1);
  const auto cluster = start(one, 0);
  EXPECT_EQ(missed(*cluster, data_, kMegabyte), kMegabyte);
  EXPECT_LE(missed(*cluster, data_ + kMegabyte, 50 * kMegabyte), kL2PageBytes);
  EXPECT_EQ(cache_.dirty_bytes(), 20 * kMegabyte);
}

/// Places of an H100 that are near one side of the cache and near the other.
constexpr uint64_t kNearSide0 = 0;
constexpr uint64_t kNearSide1 = 5;

TEST_F(L2LaunchTest, EachSideHoldsWhatItsSmsRead) {
  const auto misses = [&](uint64_t bytes, const std::vector<uint64_t>& places) {
    L2Cache fresh(50 * kMegabyte, 20 * kMegabyte);
    uint64_t last = 0;
    for (int run = 0; run < 3; ++run) {
      last = 0;
      for (const uint64_t place : places) {
        L2Launch one(times_, fresh, {.places = places_of(*find_machine("h100"), 132, 1)});
        RunningCluster cluster;
        cluster.demand.begin(1, 0);
        cluster.view.begin(one, cluster.demand, 0, place, 0);
        last += missed(cluster, data_, bytes);
        one.finish(0, cluster.view);
      }
    }
    return last;
  };
  // A side has 25 megabytes. What it has lost of the other side's memory, that side still has.
  EXPECT_EQ(misses(24 * kMegabyte, {kNearSide0}), 0u);
  EXPECT_GT(misses(40 * kMegabyte, {kNearSide0}), 0u);
  EXPECT_LE(misses(40 * kMegabyte, {kNearSide0}), 20 * kMegabyte);
  EXPECT_EQ(misses(24 * kMegabyte, {kNearSide0, kNearSide1}), 0u);
  EXPECT_GT(misses(30 * kMegabyte, {kNearSide0, kNearSide1}), 0u);
}

TEST_F(L2LaunchTest, WhatOnlyTheOtherSideHasComesLater) {
  constexpr uint64_t kChunk = 4 * kKilobyte;
  cache_.write(data_, kMegabyte);
  const auto waits = [&](uint64_t place) {
    L2Launch placed(times_, cache_, {.places = places_of(*find_machine("h100"), 132, 1)});
    RunningCluster cluster;
    cluster.demand.begin(1, 0);
    cluster.view.begin(placed, cluster.demand, 0, place, 0);
    std::vector<Cycle> extra;
    for (uint64_t at = 0; at < kMegabyte; at += kChunk)
      extra.push_back(cluster.view.touch(data_ + at, 128, 0, L2Path::thread_load).extra);
    placed.finish(0, cluster.view);
    return extra;
  };
  // Half of the memory belongs to each side.
  const std::vector<Cycle> first = waits(kNearSide0);
  const std::vector<Cycle> other = waits(kNearSide1);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i] + other[i], times_.l2_far_cycles);
  EXPECT_EQ(std::count(first.begin(), first.end(), 0), std::count(other.begin(), other.end(), 0));
  // Now both sides have it.
  EXPECT_EQ(waits(kNearSide0), std::vector<Cycle>(first.size(), 0));
  EXPECT_EQ(waits(kNearSide1), std::vector<Cycle>(first.size(), 0));
}

TEST_F(L2LaunchTest, NeighboursComeAlong) {
  L2Launch one = launch(1, 1);
  const auto cluster = start(one, 0);
  const auto missed_of = [&](uint64_t line, uint32_t promotion_bytes) {
    L2Rows rows = rows_at(data_ + line * kL2LineBytes, kL2LineBytes, 1);
    rows.promotion_bytes = promotion_bytes;
    return cluster->view.touch_rows(rows, 0, L2Path::tma_load).miss_bytes;
  };
  EXPECT_EQ(missed_of(0, 256), kL2LineBytes);
  EXPECT_EQ(missed_of(1, 256), 0u);
  EXPECT_EQ(missed_of(2, 128), kL2LineBytes);
  EXPECT_EQ(missed_of(3, 0), kL2LineBytes);
  EXPECT_EQ(missed_of(5, 256), kL2LineBytes);
  EXPECT_EQ(missed_of(4, 0), 0u);
  EXPECT_EQ(missed_of(6, 0), kL2LineBytes);
  one.finish(0, cluster->view);
  EXPECT_EQ(one.memory_read_bytes(), 7 * kL2LineBytes);
}

TEST_F(L2LaunchTest, WhatIsWrittenAgainGoesToTheMemoryOnce) {
  const auto written_back = [&](uint64_t first, uint64_t bytes) {
    L2Launch one = launch(1, 1);
    const auto cluster = start(one, 0);
    cluster->view.touch(data_ + first, bytes, 0, L2Path::tma_store);
    one.finish(0, cluster->view);
    return one.memory_written_bytes();
  };
  EXPECT_EQ(written_back(0, 15 * kMegabyte), 0u);
  EXPECT_EQ(written_back(0, 15 * kMegabyte), 0u);
  EXPECT_NEAR(written_back(15 * kMegabyte, 15 * kMegabyte), 10 * kMegabyte, kL2PageBytes);
}

TEST_F(L2LaunchTest, LinesThatWereReadBeforeAreWrittenAsWell) {
  L2Launch one = launch(1, 1);
  const auto cluster = start(one, 0);
  const auto touch = [&](uint64_t bytes, L2Path path) {
    cluster->view.touch(data_, bytes, 0, path);
  };
  touch(4 * kKilobyte, L2Path::tma_load);
  for (const uint64_t bytes : {kKilobyte, 2 * kKilobyte, kKilobyte})
    touch(bytes, L2Path::tma_store);
  touch(4 * kKilobyte, L2Path::tma_load);
  one.finish(0, cluster->view);
  EXPECT_EQ(cache_.dirty_bytes(), 2 * kKilobyte);
  EXPECT_EQ(cache_.used_bytes(), 4 * kKilobyte);
}

TEST_F(L2LaunchTest, AWaveSeesTheWavesBeforeIt) {
  constexpr uint64_t kResident = 64;
  L2Launch waves = launch(3 * kResident, kResident);
  std::vector<uint64_t> misses;
  for (uint64_t i = 0; i < 3 * kResident; ++i) {
    const auto cluster = start(waves, i);
    misses.push_back(missed(*cluster, data_, kKilobyte));
    waves.finish(i, cluster->view);
  }
  // Those that run at the same time all miss; later ones find it.
  EXPECT_EQ(misses.front(), kKilobyte);
  EXPECT_EQ(misses[kResident - 1], kKilobyte);
  EXPECT_EQ(misses[2 * kResident - 1], 0u);
  EXPECT_EQ(misses.back(), 0u);
  // The memory gave the kilobyte once.
  double brought = 0;
  for (uint64_t i = 0; i < 3 * kResident; ++i) {
    brought += corrected(waves, i, Resource::hbm_bytes, static_cast<float>(misses[i]));
  }
  EXPECT_NEAR(brought, kKilobyte, 1);
}

TEST_F(L2LaunchTest, TheOrderOfEndsDoesNotMatter) {
  constexpr uint64_t kClusters = 40;
  const auto ends = [&](bool backwards) {
    L2Cache fresh(50 * kMegabyte, 20 * kMegabyte);
    L2Launch one(times_, fresh, {.clusters = kClusters, .resident = 20});
    std::vector<std::unique_ptr<RunningCluster>> running;
    std::vector<uint64_t> misses;
    for (uint64_t i = 0; i < kClusters; ++i) {
      running.push_back(start(one, i));
      misses.push_back(missed(*running.back(), data_ + i / 2 * 10 * kKilobyte, 30 * kKilobyte));
      running.back()->view.touch(data_ + kMegabyte * i, kKilobyte, 0, L2Path::tma_store);
    }
    for (uint64_t i = 0; i < kClusters; ++i) {
      const uint64_t at = backwards ? kClusters - 1 - i : i;
      one.finish(at, running[at]->view);
    }
    misses.push_back(fresh.used_bytes());
    misses.push_back(fresh.dirty_bytes());
    return misses;
  };
  EXPECT_EQ(ends(false), ends(true));
}

TEST_F(L2LaunchTest, AClusterOfOneWaveHasItsShareOfTheBandwidth) {
  cache_.write(data_, 16 * kMegabyte);
  constexpr uint64_t kBox = 8 * kKilobyte;
  const auto cycles_of_a_megabyte = [&](uint64_t clusters) {
    L2Launch one = launch(clusters, clusters);
    const auto first = start(one, 0);
    Cycle last = 0;
    for (uint64_t at = 0; at < kMegabyte; at += kBox)
      last = first->view.touch(data_ + at, kBox, 0, L2Path::tma_load).extra;
    one.finish(0, first->view);
    return static_cast<double>(last);  // first copies are not ahead of their share
  };
  EXPECT_NEAR(cycles_of_a_megabyte(132), 1.0 * kMegabyte * 132 / times_.l2_bytes_per_cycle, 2);
  EXPECT_NEAR(cycles_of_a_megabyte(66), 1.0 * kMegabyte * 66 / times_.l2_bytes_per_cycle, 2);
}

/// A quarter more than the cache gives each of 132 clusters that have nothing in common.
constexpr uint64_t kBoxesOfAStep = 10;

/// How long each of the clusters of a launch in steps waits for the last of its boxes. Cluster i
/// reads from box `first(i)` on, `delay(i)` cycles after the first.
std::vector<Cycle> waits_of(L2Launch& launch, uint64_t data, uint64_t clusters,
                            const std::function<uint64_t(uint64_t)>& first,
                            const std::function<Cycle(uint64_t)>& delay) {
  constexpr uint64_t kBox = 16 * kKilobyte;
  constexpr Cycle kStep = 4096;
  std::vector<std::unique_ptr<Demand>> demands;
  std::vector<std::unique_ptr<L2View>> views;
  std::vector<L2View*> running;
  for (uint64_t i = 0; i < clusters; ++i) {
    demands.push_back(std::make_unique<Demand>());
    demands.back()->begin(1, 0);
    views.push_back(std::make_unique<L2View>());
    views.back()->begin(launch, *demands.back(), i, i, 0);
    running.push_back(views.back().get());
  }
  std::vector<Cycle> last(clusters);
  for (uint64_t step = 0; step < 16; ++step) {
    for (uint64_t i = 0; i < clusters; ++i)
      for (uint64_t box = 0; box < kBoxesOfAStep; ++box)
        last[i] =
            views[i]
                ->touch(data + (first(i) + step * kBoxesOfAStep + box) * kBox, kBox,
                        step * kStep + box * kStep / kBoxesOfAStep + delay(i), L2Path::tma_load)
                .extra;
    launch.step(running);
  }
  for (uint64_t i = 0; i < clusters; ++i) launch.finish(i, *views[i]);
  return last;
}

/// That of the last cluster.
Cycle wait_of(L2Launch& launch, uint64_t data, uint64_t clusters,
              const std::function<uint64_t(uint64_t)>& first,
              const std::function<Cycle(uint64_t)>& delay) {
  return waits_of(launch, data, clusters, first, delay).back();
}

TEST_F(L2LaunchTest, SmsOfAGpcReadALineOnce) {
  constexpr uint64_t kClusters = 128;
  cache_.write(data_, 24 * kMegabyte);
  const auto wait = [&](uint64_t members, uint64_t distance, Cycle skew) {
    L2Launch one(times_, cache_, steps(kClusters));
    return wait_of(
        one, data_, kClusters,
        // The next group reads a step later what this one reads now.
        [&](uint64_t i) {
          return kBoxesOfAStep * (i / (members * distance) * distance + i % distance);
        },
        [&](uint64_t i) { return i / distance % members * skew; });
  };
  // Places 8 apart are in one GPC, adjacent ones in different GPCs.
  const Cycle alone = wait(1, 1, 0);
  EXPECT_GT(alone, 1000u);
  EXPECT_LT(wait(2, 8, 0), alone / 2);
  EXPECT_LT(wait(2, 8, times_.l2_merge_cycles), alone / 2);
  EXPECT_GT(wait(2, 8, times_.l2_merge_cycles + 10), alone / 10 * 9);
}

TEST_F(L2LaunchTest, CtasThatShareAnSmWaitForBandwidthBehindTheRun) {
  L2Launch::Shape shape{.clusters = 100, .resident = 132};
  EXPECT_TRUE(L2Launch(times_, cache_, shape).shares());
  shape.ctas_share_sms = true;
  EXPECT_FALSE(L2Launch(times_, cache_, shape).shares());
}

TEST_F(L2LaunchTest, KnowsBehindTheRunWhatClustersHaveReadTogether) {
  cache_.write(data_, kMegabyte);
  L2Launch waves = launch(4, 2);
  for (uint64_t i = 0; i < 4; ++i) {
    const auto cluster = start(waves, i);
    cluster->view.touch_rows(rows_at(data_ + i / 2 * 64 * kKilobyte, 128, 64), 0, L2Path::tma_load);
    waves.finish(i, cluster->view);
  }
  // The first two have read the same at one time, the others something else at different times.
  LaunchTime time;
  time.lives = {{0, 512}, {0, 512}, {1000, 1512}, {2000, 2512}};
  const std::vector profiles(4, DemandProfile{.duration = 512, .intervals = {}});
  const double both = 1 - merged_part(times_, 0) / 2;
  EXPECT_EQ(waves.reads().parts(times_, time, profiles), (std::vector<double>{both, both, 1, 1}));
}

TEST_F(L2LaunchTest, ACopyIsReadWhenItsEngineHasMovedTheEarlierOnes) {
  constexpr Cycle kFree = 3 * Demand::kInterval;
  L2Launch waves = launch(4, 2);
  const auto cluster = start(waves, 0);
  L2Rows rows = rows_at(data_, 128, 64);
  rows.engine_free_at = kFree;
  cluster->view.touch_rows(rows, 10, L2Path::tma_load);
  for (const Resource resource : {Resource::l2_read_bytes, Resource::hbm_bytes}) {
    EXPECT_EQ(cluster->demand.used(resource, 0, kFree), 0);
    EXPECT_EQ(cluster->demand.used(resource, kFree, kFree + 1), rows.bytes());
  }
}

TEST_F(L2LaunchTest, WhoReadsWithNobodyWaitsAsLongAsTheOthers) {
  constexpr uint64_t kClusters = 132;
  // On an H100 the pair of SMs of place 1 is outside of the GPCs and has a port of its own.
  constexpr uint64_t kOfLonePair = 1, kOfGpc = 4;
  cache_.write(data_, 24 * kMegabyte);
  const L2Launch::Shape shape = steps(kClusters);
  const auto waits = [&](uint64_t readers) {
    // As many SMs of every other port read the same.
    std::map<uint32_t, uint64_t> of_port;
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> groups;
    std::vector<uint64_t> group_of;
    for (const Place& place : shape.places) {
      const uint64_t number = of_port[place.port]++;
      const uint64_t key = place.port == shape.places[kOfLonePair].port ? number : number / readers;
      group_of.push_back(groups.emplace(std::pair{place.port, key}, groups.size()).first->second);
    }
    L2Launch one(times_, cache_, shape);
    return waits_of(
        one, data_, kClusters, [&](uint64_t place) { return kBoxesOfAStep * group_of[place]; },
        [](uint64_t) { return Cycle{0}; });
  };
  const std::vector<Cycle> alone = waits(1), pairs = waits(2);
  EXPECT_GT(alone[kOfLonePair], 1000u);
  EXPECT_LT(pairs[kOfGpc], 1000u);
  EXPECT_LT(pairs[kOfLonePair], 1000u);
}

TEST_F(L2LaunchTest, WhatOthersBringInNobodyWaitsForTwice) {
  constexpr uint64_t kClusters = 100;
  const auto wait = [&](bool same) {
    L2Cache fresh(50 * kMegabyte, 20 * kMegabyte);
    L2Launch one(times_, fresh, steps(kClusters));
    return wait_of(
        one, data_, kClusters, [&](uint64_t i) { return same ? 0 : i * 128; },
        [](uint64_t) { return Cycle{0}; });
  };
  const double bytes = 2.0 * kMegabyte * kClusters;
  EXPECT_GT(static_cast<double>(wait(false)), 0.5 * bytes / times_.hbm_bytes_per_cycle);
  EXPECT_LT(static_cast<double>(wait(true)), 0.2 * bytes / times_.hbm_bytes_per_cycle);
}

TEST_F(L2LaunchTest, WritesDoNotWaitForReads) {
  constexpr uint64_t kBytes = 512 * kKilobyte;
  const auto written = [&](bool reads) {
    L2Launch one = launch(132, 132);
    const auto cluster = start(one, 0);
    if (reads) cluster->view.touch(data_ + kMegabyte, kBytes, 0, L2Path::tma_load);
    const Cycle extra = cluster->view.touch(data_, kBytes, 0, L2Path::tma_store).extra;
    one.finish(0, cluster->view);
    return static_cast<double>(extra + times_.bandwidth_credit);
  };
  EXPECT_NEAR(written(false), 132.0 * kBytes / times_.l2_write_bytes_per_cycle, 2);
  EXPECT_EQ(written(true), written(false));
}

TEST_F(L2LaunchTest, PiecesOfSectorsCostMore) {
  const auto extra = [&](uint64_t row_bytes, uint64_t rows) {
    L2Launch one = launch(132, 132);
    const auto cluster = start(one, 0);
    const L2Touch touch =
        cluster->view.touch_rows(rows_at(data_, row_bytes, rows), 0, L2Path::thread_store);
    one.finish(0, cluster->view);
    return static_cast<double>(touch.extra + times_.bandwidth_credit);
  };
  const double a_byte = 132.0 / times_.l2_write_bytes_per_cycle;
  EXPECT_NEAR(extra(32, 1024), 32 * 1024 * a_byte, 2);
  EXPECT_NEAR(extra(16, 1024), (32 + times_.l2_partial_write_bytes) * 1024.0 * a_byte, 2);
  EXPECT_NEAR(extra(112, 1024), (128 + times_.l2_partial_write_bytes) * 1024.0 * a_byte, 2);
}

TEST_F(L2LaunchTest, WhoMissesInAStepAndBehindItPauses) {
  cache_.write(data_, kMegabyte);
  L2Launch::Shape shape = steps(132);
  shape.pauses = true;
  L2Launch one(times_, cache_, shape);
  L2View& view = start_in(one, 1);
  const auto read = [&](uint64_t kilobyte, Cycle at) {
    view.touch(data_ + kilobyte * kKilobyte, kKilobyte, at, L2Path::tma_load);
  };
  read(0, 100);  // is in the cache
  EXPECT_EQ(view.pauses_after(), kNever);
  read(2000, 200);
  EXPECT_EQ(view.pauses_after(), 384u);  // 128 + 256
  read(2001, 383);
  read(1, 500);
  EXPECT_EQ(view.pauses_at(), kNever);
  read(2002, 600);
  EXPECT_EQ(view.pauses_at(), 600u);
  EXPECT_EQ(view.pauses_after(), 384u);
  view.resume();
  EXPECT_EQ(view.pauses_at(), kNever);
  read(2003, 300);                       // times may go back a little,
  EXPECT_EQ(view.pauses_after(), 896u);  // steps not
  EXPECT_EQ(one.step_end(3967), 3968u);
  EXPECT_EQ(one.step_end(3968), 3968u + 4096u);
  EXPECT_EQ(one.step_end(3968 + 4096), 3968u + 2 * 4096u);
}

TEST_F(L2LaunchTest, ALittleWaitingIsNoReasonToPauseUnlessForThoseThatRunAhead) {
  cache_.write(data_, 16 * kMegabyte);
  L2Launch::Shape shape = steps(132);
  shape.pauses = true;
  L2Launch one(times_, cache_, shape);
  ASSERT_TRUE(one.is_pilot(4));
  ASSERT_FALSE(one.is_pilot(0));  // of a pair outside of the GPCs
  ASSERT_FALSE(one.is_pilot(1));
  const auto waited_until_paused = [&](uint64_t place) {
    L2View& view = start_in(one, place);
    Cycle waited = 0;
    for (uint64_t box = 0; view.pauses_after() == kNever; ++box)
      waited += view.touch(data_ + box * kKilobyte, kKilobyte, 0, L2Path::tma_load).waited;
    return waited;
  };
  EXPECT_LT(waited_until_paused(4), 100u);
  EXPECT_GT(waited_until_paused(1), 4000u);
  EXPECT_LT(waited_until_paused(1), 5000u);
}

TEST_F(L2LaunchTest, WhoMayDriveSomethingOutPauses) {
  constexpr uint64_t kBytes = 64 * kKilobyte;
  const auto pauses = [&](uint64_t host_bytes) {
    L2Cache fresh(50 * kMegabyte, 20 * kMegabyte);
    fresh.write(data_, host_bytes);
    L2Launch::Shape shape = steps(100);
    shape.pauses = true;
    L2Launch one(times_, fresh, shape);
    L2View& view = start_in(one, 1);
    view.touch(data_, kBytes, 0, L2Path::tma_load);
    return view.pauses_after() != kNever;
  };
  EXPECT_FALSE(pauses(43 * kMegabyte));  // 100 times 64 KB fit
  EXPECT_TRUE(pauses(44 * kMegabyte));
}

TEST_F(L2LaunchTest, WhatPilotsReadTogetherOthersWaitForLess) {
  constexpr uint64_t kBox = 16 * kKilobyte;
  cache_.write(data_, 16 * kMegabyte);
  const auto wait = [&](bool same) {
    L2Launch::Shape shape = steps(132);
    shape.pauses = true;
    L2Launch one(times_, cache_, shape);
    std::vector<L2ClusterState*> pilots;
    for (uint64_t place = 0; place < 32; ++place) {
      if (!one.is_pilot(place)) continue;
      L2View& view = start_in(one, place);
      view.touch(data_ + (same ? 0 : place) * kBox, kBox, 0, L2Path::tma_load);
      pilots.push_back(view.state());
    }
    EXPECT_GT(pilots.size(), 1u);
    one.learn(pilots, kNever);
    L2View& view = start_in(one, 1);
    return view.touch(data_, 4 * kBox, 0, L2Path::tma_load).waited;
  };
  EXPECT_GT(wait(false), 1000u);
  EXPECT_LT(wait(true), wait(false) / 4 * 3);
}

TEST_F(L2LaunchTest, WhoRunsAheadTakesHalfOfWhatItReadsForSharedUntilMoreIsKnown) {
  cache_.write(data_, kMegabyte);
  const auto wait = [&](bool runs_ahead, bool has_learned) {
    L2Launch::Shape shape = steps(132);
    shape.pauses = true;
    L2Launch one(times_, cache_, shape);
    if (runs_ahead) one.begin_pilots();
    if (has_learned) one.learn({}, 0);
    return static_cast<double>(
        start_in(one, 4).touch(data_, 512 * kKilobyte, 0, L2Path::tma_load).waited);
  };
  const double alone = wait(false, false);
  EXPECT_GT(alone, 1000);
  EXPECT_NEAR(wait(true, false), alone / 2, 2);
  EXPECT_EQ(wait(true, true), alone);
}

/// Threads that add up a part of `data`, two CTAs the same one.
std::string readers() {
  return entry(".param .u64 data",
               ".reg .u64 p; .reg .u32 b, t, x, s; .reg .pred more;\n"
               "ld.param.u64 p, [data]; mov.u32 b, %ctaid.x; shr.u32 b, b, 1;\n"
               "mov.u32 t, %tid.x; mad.lo.u32 t, b, 4096, t;\n"
               "mad.wide.u32 p, t, 4, p; mov.u32 s, 0; mov.u32 x, 0;\n"
               "loop:\nld.global.u32 t, [p]; add.u32 s, s, t; add.u64 p, p, 512;\n"
               "add.u32 x, x, 1; setp.lt.u32 more, x, 32; @more bra loop;\n"
               "st.global.u32 [p+-512], s;\nret;\n");
}

TEST(LaunchTimeOnThreads, CyclesDoNotDependOnTheHostsThreads) {
  const auto cycles = [](uint32_t host_threads) {
    Settings settings = test_settings();
    settings.sm_count = 4;
    settings.timing = TimingModel::model;
    settings.host_threads = host_threads;
    Runner runner(settings);
    auto data = runner.buffer(std::vector<uint32_t>(size_t{4096} * 200, 1));
    LaunchConfiguration configuration = threads(128);
    configuration.grid = {300, 1, 1};
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 2; ++i) {
      const LaunchResult result = runner.run(readers(), configuration, data);
      numbers.insert(numbers.end(), {result.cycles, result.l2.hits(), result.l2.misses()});
    }
    return numbers;
  };
  const auto one = cycles(1);
  EXPECT_EQ(cycles(2), one);
  EXPECT_EQ(cycles(8), one);
}

}  // namespace
}  // namespace bw::sim::test::l2_launch_test
