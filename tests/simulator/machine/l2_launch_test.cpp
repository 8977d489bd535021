/// \file
/// What clusters find in the L2 cache, whatever order they run in, and what they wait for.
#include "common/simulator/machine/timing/l2_launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/machine_description.hpp"
#include "common/simulator/machine/timing/timing_table.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test {
namespace {

constexpr uint64_t kKilobyte = 1024;
constexpr uint64_t kMegabyte = kKilobyte * kKilobyte;

/// A device's memory and cache, and a launch of clusters that are told what to touch.
class L2LaunchTest : public ::testing::Test {
 protected:
  struct RunningCluster {
    Demand demand;
    L2View view;
  };

  L2Launch launch(uint64_t clusters, uint64_t resident) {
    return {times_, cache_, memory_, {.clusters = clusters, .resident = resident}};
  }
  std::unique_ptr<RunningCluster> start(L2Launch& launch, uint64_t index) {
    auto cluster = std::make_unique<RunningCluster>();
    cluster->demand.begin(1, 0);
    cluster->view.begin(launch, cluster->demand, index);
    return cluster;
  }
  static uint64_t missed(RunningCluster& cluster, uint64_t address, uint64_t bytes) {
    return cluster.view.touch(address, bytes, 0, L2Path::tma_load).miss_bytes;
  }

  const TimingTable& times_ = times_of(*find_machine("h100"));
  DeviceMemory memory_{size_t{1} << 30};
  L2Cache cache_{50 * kMegabyte, 20 * kMegabyte};
  uint64_t data_ = memory_.allocate(200 * kMegabyte, "data");
};

TEST_F(L2LaunchTest, ALineMissesOnce) {
  L2Launch one = launch(1, 1);
  const auto cluster = start(one, 0);
  EXPECT_EQ(missed(*cluster, data_, 256), 256u);
  EXPECT_EQ(missed(*cluster, data_ + 128, 256), 128u);
  EXPECT_EQ(missed(*cluster, data_ + 200, 100), 0u);
  EXPECT_EQ(missed(*cluster, data_ + 500, 24), 24u);  // of its line, no more than was asked for
  // Rows of a box: 64 lines that lie 1000 bytes apart.
  EXPECT_EQ(
      cluster->view.touch_rows(data_ + kMegabyte, 128, 1024, 64, 0, L2Path::tma_load).miss_bytes,
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

TEST_F(L2LaunchTest, WhatSmsReadTakesTwiceItsSize) {
  // The cache's 50 megabytes hold 20 of them, but not 30.
  const auto reads = [&](uint64_t bytes) {
    L2Launch one = launch(1, 1);
    const auto cluster = start(one, 0);
    const uint64_t bytes_missed = missed(*cluster, data_, bytes);
    one.finish(0, cluster->view);
    return bytes_missed;
  };
  reads(20 * kMegabyte);
  EXPECT_EQ(reads(20 * kMegabyte), 0u);
  reads(30 * kMegabyte);
  EXPECT_GT(reads(30 * kMegabyte), 0u);
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
    DemandProfile profile{.duration = 512, .interval = 512, .intervals = {{Amounts{}}}};
    profile.intervals[0][0][static_cast<size_t>(Resource::hbm_bytes)] =
        static_cast<float>(misses[i]);
    waves.correct(i, profile);
    brought += profile.total(Resource::hbm_bytes);
  }
  EXPECT_NEAR(brought, kKilobyte, 1);
}

TEST_F(L2LaunchTest, TheOrderOfEndsDoesNotMatter) {
  constexpr uint64_t kClusters = 40;
  const auto ends = [&](bool backwards) {
    L2Cache fresh(50 * kMegabyte, 20 * kMegabyte);
    L2Launch one(times_, fresh, memory_, {.clusters = kClusters, .resident = 20});
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
    return static_cast<double>(last + times_.bandwidth_credit);
  };
  EXPECT_NEAR(cycles_of_a_megabyte(132), 1.0 * kMegabyte * 132 / times_.l2_bytes_per_cycle, 2);
  EXPECT_NEAR(cycles_of_a_megabyte(66), 1.0 * kMegabyte * 66 / times_.l2_bytes_per_cycle, 2);
}

TEST_F(L2LaunchTest, WhatOthersBringInNobodyWaitsForTwice) {
  const uint64_t shared = memory_.allocate(kMegabyte, "shared");
  const auto extra = [&](bool same) {
    L2Cache fresh(50 * kMegabyte, 20 * kMegabyte);
    L2Launch one(times_, fresh, memory_, {.clusters = 100, .resident = 100});
    EXPECT_TRUE(one.wants_a_pilot());
    Cycle last = 0;
    for (const uint64_t i : {uint64_t{0}, uint64_t{1}}) {
      const auto cluster = start(one, i);
      const uint64_t address = same ? shared : data_ + i * kMegabyte;
      last = cluster->view.touch(address, kMegabyte, 0, L2Path::tma_load).extra;
      one.finish(i, cluster->view);
    }
    return static_cast<double>(last);
  };
  const double unshared = 1.0 * kMegabyte * 100 / times_.hbm_bytes_per_cycle;
  EXPECT_GT(extra(false), 0.9 * unshared);
  // A hundredth of the time for the memory; the cache gives the whole to each of them.
  EXPECT_LT(extra(true), 1.0 * kMegabyte * 100 / times_.l2_bytes_per_cycle + 1000);
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
}  // namespace bw::sim::test
