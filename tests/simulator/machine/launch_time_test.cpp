/// \file
/// The fluid simulation of a launch on cases that can be worked out by hand.
#include "common/simulator/clock/launch_time.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <utility>
#include <vector>

#include "common/simulator/clock/free_slots.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim::test::launch_time_test {
namespace {

constexpr Cycle kInterval = 512;
constexpr auto kTensor = static_cast<size_t>(Resource::tensor_cycles);
constexpr auto kSlots = static_cast<size_t>(Resource::issue_slots);
constexpr auto kL2 = static_cast<size_t>(Resource::l2_read_bytes);
constexpr auto kWrites = static_cast<size_t>(Resource::l2_written_bytes);
constexpr auto kHbm = static_cast<size_t>(Resource::hbm_bytes);
/// Steps of the simulation are 32 cycles or longer.
constexpr double kStepError = 64;

/// One CTA that requests this amount of a resource in each of its intervals.
DemandProfile cluster(size_t resource, const std::vector<float>& amounts) {
  DemandProfile profile{
      .duration = amounts.size() * kInterval, .interval = kInterval, .intervals = {{}}};
  for (const float amount : amounts) {
    profile.intervals.front().push_back({});
    profile.intervals.front().back()[resource] = amount;
  }
  return profile;
}

DemandProfile steady(size_t resource, float a_cycle, size_t intervals = 16) {
  return cluster(resource, std::vector<float>(intervals, a_cycle * kInterval));
}

LaunchCapacity machine(uint64_t places, uint32_t sms) {
  return {
      .places = places, .ctas_per_cluster = 1, .sms = sms, .a_cycle = {4, 1, 1, 1, 1, 100, 60, 50}};
}

double cycles(const std::vector<DemandProfile>& clusters, const LaunchCapacity& capacity) {
  return static_cast<double>(launch_time(clusters, capacity).cycles);
}

TEST(LaunchTime, AClusterAloneTakesItsOwnTime) {
  EXPECT_EQ(launch_time(std::vector{steady(kHbm, 50)}, machine(8, 8)).cycles, 16 * kInterval);
}

TEST(LaunchTime, TwoThatWantTheWholeMemoryTakeTwiceAsLong) {
  for (const size_t resource : {kL2, kWrites, kHbm}) {
    const float all = resource == kL2 ? 100 : resource == kWrites ? 60 : 50;
    EXPECT_NEAR(cycles({steady(resource, all), steady(resource, all)}, machine(8, 8)),
                2 * 16 * kInterval, kStepError);
  }
}

TEST(LaunchTime, WhoWantsSomethingElseIsNotInTheWay) {
  const std::vector two = {steady(kHbm, 50), steady(kL2, 100)};
  EXPECT_EQ(launch_time(two, machine(8, 8)).cycles, 16 * kInterval);
}

TEST(LaunchTime, BytesWrittenAheadAreOnTheirWayAtTheEnd) {
  LaunchCapacity capacity = machine(8, 8);
  capacity.credit = kInterval;
  std::vector<float> amounts(16, 0);
  amounts.back() = 2.0F * 60 * kInterval;  // as much as the credit lets through
  const std::vector writer = {cluster(kWrites, amounts)};
  const LaunchTime time = launch_time(writer, capacity);
  EXPECT_NEAR(static_cast<double>(time.cycles), 16 * kInterval, kStepError);
  EXPECT_NEAR(static_cast<double>(time.writing), kInterval, kStepError);
  EXPECT_EQ(launch_time(std::vector{steady(kHbm, 10)}, capacity).writing, 0u);
  capacity.a_cycle[kWrites] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(launch_time(writer, capacity).writing, 0u);
}

TEST(LaunchTime, WhoWantsLessThanHisPartIsNotSlowedDown) {
  // 10 of 50 bytes a cycle; the other has the 40 that are left, and all once it is alone.
  EXPECT_NEAR(cycles({steady(kHbm, 10), steady(kHbm, 50)}, machine(8, 8)),
              (16 * kInterval) + (0.2 * 16 * kInterval), kStepError);
}

TEST(LaunchTime, ABurstTakesLongerAndWhatFollowsComesLater) {
  std::vector<float> amounts(16, 0);
  amounts[3] = 2.0F * 50 * kInterval;  // twice what the memory can do in that time
  EXPECT_NEAR(cycles({cluster(kHbm, amounts)}, machine(8, 8)), 17 * kInterval, kStepError);
  EXPECT_NEAR(cycles({cluster(kHbm, amounts), cluster(kHbm, amounts)}, machine(8, 8)),
              19 * kInterval, kStepError);
}

TEST(LaunchTime, WhatWaitsOnTheWayHoldsNobodyUp) {
  LaunchCapacity capacity = machine(8, 8);
  capacity.credit = kInterval;
  std::vector<float> amounts(16, 0);
  amounts[3] = 2.0F * 50 * kInterval;  // as much as the credit lets through
  EXPECT_NEAR(cycles({cluster(kHbm, amounts)}, capacity), 16 * kInterval, kStepError);
  // It is there again only after a pause.
  amounts[4] = amounts[3];
  EXPECT_NEAR(cycles({cluster(kHbm, amounts)}, capacity), 17 * kInterval, kStepError);
  amounts[4] = 0;
  amounts[5] = amounts[3];
  EXPECT_NEAR(cycles({cluster(kHbm, amounts)}, capacity), 16 * kInterval, kStepError);
  EXPECT_NEAR(cycles({steady(kHbm, 50), steady(kHbm, 50)}, capacity), (2 * 16 - 1) * kInterval,
              kStepError);
}

TEST(LaunchTime, WhoHasAskedForMuchLeavesOthersTheirPartOfAPort) {
  // One asks at once for what takes the port all its time, the other for a fifth of the port. Its
  // half is more than that.
  LaunchCapacity capacity = machine(2, 2);
  capacity.a_cycle[static_cast<size_t>(kL2)] = 1000;
  capacity.ports = {0, 0};
  capacity.port_a_cycle = 50;
  std::vector<float> burst(32, 0);
  burst[0] = 32 * 40 * kInterval;
  DemandProfile greedy = cluster(kL2, burst);
  greedy.slack.assign(32, 31 * kInterval);
  const std::vector two = {greedy, steady(kL2, 10)};
  EXPECT_NEAR(cycles(two, capacity), 32 * kInterval, 2 * kStepError);
  // The other one ends in its own time: a third cluster that follows it comes 16 intervals later.
  capacity.places = 2;
  const std::vector three = {greedy, steady(kL2, 10), steady(kL2, 10)};
  EXPECT_NEAR(cycles(three, capacity), 32 * kInterval, 2 * kStepError);
}

TEST(LaunchTime, ThoseThatReadThroughOnePortShareIt) {
  LaunchCapacity capacity = machine(2, 2);
  capacity.port_a_cycle = 50;
  const auto factor = [&](float one, float other, std::vector<uint32_t> ports) {
    capacity.ports = std::move(ports);
    return cycles({steady(kL2, one), steady(kL2, other)}, capacity) / (16 * kInterval);
  };
  constexpr double kError = kStepError / (16 * kInterval);
  EXPECT_NEAR(factor(50, 50, {0, 1}), 1, kError);
  EXPECT_NEAR(factor(50, 50, {1, 1}), 2, kError);
  EXPECT_NEAR(factor(10, 50, {0, 0}), 1.2, kError);  // the first takes less than its part
  EXPECT_NEAR(factor(50, 20, {0, 0}), 1.4, kError);
}

TEST(LaunchTime, CopiesThatCameEarlyMayComeLater) {
  // Both ask for all there is in the first half of their lives.
  std::vector<float> amounts(16, 0);
  for (size_t i = 0; i < 8; ++i) amounts[i] = 100 * kInterval;
  std::vector two(2, cluster(kL2, amounts));
  EXPECT_NEAR(cycles(two, machine(8, 8)), (2 * 8 + 8) * kInterval, kStepError);
  for (DemandProfile& one : two) one.slack.assign(16, 8 * kInterval);
  EXPECT_NEAR(cycles(two, machine(8, 8)), 16 * kInterval, kStepError);
}

TEST(LaunchTime, CopiesComeLaterTheMoreIsRead) {
  // Each asks for a quarter of what there is and waits for it at once.
  LaunchCapacity capacity = machine(8, 8);
  capacity.l2_queue_cycles = 60;
  capacity.copy_cycles = 600;
  const auto cycles_of = [&](size_t clusters) {
    return cycles(std::vector(clusters, steady(kL2, 25, 64)), capacity);
  };
  constexpr double kAlone = 64 * kInterval;
  // A slower cluster asks for less per cycle: u = v / 2, 1 / v = 1 + 0.1 u / (1 - u).
  EXPECT_NEAR(cycles_of(1), kAlone * (1 + 0.1 / 3), 0.01 * kAlone);
  EXPECT_NEAR(cycles_of(2), kAlone * 1.09, 0.01 * kAlone);
  // Copies of a ring whose delay is less than their lead delay no cluster.
  DemandProfile early = steady(kL2, 25, 64);
  early.slack.assign(64, 400);
  EXPECT_NEAR(cycles({early, early}, capacity), kAlone, 2 * kStepError);
}

TEST(LaunchTime, ABurstIsNoQueue) {
  // In one of 64 intervals it reads all that the chip delivers in that time.
  LaunchCapacity capacity = machine(8, 8);
  capacity.l2_queue_cycles = 60;
  capacity.copy_cycles = 600;
  std::vector<float> amounts(64, 0);
  amounts[20] = 100 * kInterval;
  const LaunchTime time = launch_time(std::vector{cluster(kL2, amounts)}, capacity);
  EXPECT_NEAR(static_cast<double>(time.cycles), 64 * kInterval, 0.25 * kInterval);
  EXPECT_GT(time.l2_queue, 0);
  EXPECT_LT(time.l2_queue, 60);
}

TEST(LaunchTime, TellsWhenAndWhereClustersWere) {
  LaunchCapacity capacity = machine(2, 2);
  capacity.ports = {3, 5};
  capacity.turnover = 500;
  const std::vector three = {steady(kSlots, 1, 4), steady(kSlots, 1, 16), steady(kSlots, 1, 4)};
  const LaunchTime time = launch_time(three, capacity);
  ASSERT_EQ(time.lives.size(), 3u);
  EXPECT_NEAR(time.lives[0].end, 4 * kInterval, kStepError);
  EXPECT_NEAR(time.lives[1].end, 16 * kInterval, kStepError);
  EXPECT_EQ(time.lives[1].port, 5u);
  // The third one takes the place of the first.
  EXPECT_NEAR(time.lives[2].begin, 4 * kInterval + 500, kStepError);
  EXPECT_EQ(time.lives[2].port, 3u);
  // Without contention, too.
  capacity.a_cycle[kL2] = capacity.a_cycle[kWrites] = capacity.a_cycle[kHbm] =
      std::numeric_limits<float>::infinity();
  capacity.begins = {0, 700};
  const LaunchTime apart = launch_time(std::vector(2, steady(kSlots, 1, 4)), capacity);
  EXPECT_EQ(apart.lives[1].begin, 700);
  EXPECT_EQ(apart.lives[1].end, 4 * kInterval + 700);
  EXPECT_EQ(apart.lives[1].port, 5u);
}

TEST(LaunchTime, CtasOfAnSmTakeTurns) {
  // Both want the tensor cores all the time; what they want of other units is not in the way.
  const std::vector two = {steady(kTensor, 1, 8), steady(kTensor, 1, 8)};
  EXPECT_NEAR(cycles(two, machine(2, 1)), 2 * 8 * kInterval, kStepError);
  EXPECT_NEAR(cycles({two[0], steady(kSlots, 4, 8)}, machine(2, 1)), 8 * kInterval, kStepError);
  // On two SMs they do not compete.
  EXPECT_NEAR(cycles(two, machine(2, 2)), 8 * kInterval, kStepError);
  // Three slots of four each: together half as many again as there are.
  EXPECT_NEAR(cycles({steady(kSlots, 3), steady(kSlots, 3)}, machine(2, 1)), 1.5 * 16 * kInterval,
              kStepError);
}

TEST(LaunchTime, CtasWaitForEachOtherBeforeAnSmIsFull) {
  // Each wants half of the slots: half of the time it finds the other one, with half of its turn
  // left.
  EXPECT_NEAR(cycles({steady(kSlots, 2), steady(kSlots, 2)}, machine(2, 1)),
              16 * kInterval * (1 + 0.5 * 0.5 * 0.5), kStepError);
  // Of three the third finds what two are, who find each other as above.
  constexpr double kWaitsOfTwo = 0.25 * 0.5;
  constexpr double kWaits = 2 / (1 + 0.25 * kWaitsOfTwo) * 0.25 * (kWaitsOfTwo + 0.5);
  EXPECT_NEAR(cycles({steady(kSlots, 1), steady(kSlots, 1), steady(kSlots, 1)}, machine(3, 1)),
              16 * kInterval * (1 + 0.25 * kWaits), kStepError);
}

TEST(LaunchTime, WhatCopiesBringPassesThroughSharedMemory) {
  constexpr auto kLoading = static_cast<size_t>(Resource::loading_cycles);
  constexpr auto kShared = static_cast<size_t>(Resource::shared_memory_cycles);
  const std::vector two = {steady(kLoading, 1), steady(kShared, 0.75F)};
  LaunchCapacity capacity = machine(2, 1);
  EXPECT_NEAR(cycles(two, capacity), 16 * kInterval, kStepError);
  capacity.landing_passes = 0.75;
  EXPECT_NEAR(cycles(two, capacity), 1.5 * 16 * kInterval, kStepError);
}

TEST(LaunchTime, ClustersThatDoNotFitFollowInWaves) {
  LaunchCapacity capacity = machine(2, 2);
  capacity.turnover = 500;
  EXPECT_EQ(launch_time(std::vector(5, steady(kSlots, 1)), capacity).cycles,
            (3 * 16 * kInterval) + (2 * 500));
  // The one after a short one begins early.
  const std::vector mixed = {steady(kSlots, 1, 4), steady(kSlots, 1, 16), steady(kSlots, 1, 4)};
  EXPECT_EQ(launch_time(mixed, capacity).cycles, 16 * kInterval);
}

TEST(LaunchTime, ThoseThatFollowBeginOneBehindTheOther) {
  LaunchCapacity capacity = machine(4, 4);
  capacity.follow = 1000;
  const std::vector many(20, steady(kTensor, 0.5, 1));
  // Four are there at once, sixteen follow.
  EXPECT_NEAR(cycles(many, capacity), 16 * 1000 + kInterval, kStepError);
  capacity.follow = 10;
  EXPECT_NEAR(cycles(many, capacity), 5 * kInterval, 3 * kStepError);
}

TEST(LaunchTime, CtasThatEndEarlyLeaveTheirSmToOthersOfTheGpc) {
  // Clusters of two CTAs, of which the first ends at half of the time.
  DemandProfile uneven = steady(kSlots, 1);
  uneven.intervals.emplace_back(16);
  uneven.ends = {8 * kInterval, 16 * kInterval};
  const std::vector three(3, uneven);
  LaunchCapacity capacity = machine(2, 4);
  capacity.ctas_per_cluster = 2;
  EXPECT_EQ(launch_time(three, capacity).cycles, 32 * kInterval);
  capacity.gpcs = {0, 1};
  EXPECT_EQ(launch_time(three, capacity).cycles, 32 * kInterval);
  capacity.gpcs = {0, 0};
  EXPECT_EQ(launch_time(three, capacity).cycles, 24 * kInterval);
}

TEST(LaunchTime, WhatTheL2CacheGivesDoesNotFallWithTheSmsClock) {
  // Eight that multiply all the time and read twice what there is: the clock falls, but the cache
  // takes as long by wall time as if it did not.
  DemandProfile profile = steady(kTensor, 1, 256);
  for (Amounts& amounts : profile.intervals.front()) amounts[kL2] = 25 * kInterval;
  const std::vector many(8, profile);
  const LaunchCapacity capacity = machine(8, 8);
  const TimingTable& times = times_of(*find_machine("h100"));
  const LaunchTime high = launch_time(many, capacity);
  const LaunchTime low = launch_time(many, capacity, {.times = &times, .sms = 8});
  EXPECT_NEAR(static_cast<double>(high.cycles), 2.0 * 256 * kInterval, 600);
  const auto wall = static_cast<double>(low.tensor_use.stretched(low.cycles, 8, times));
  EXPECT_GT(wall, 1.1 * static_cast<double>(low.cycles));
  EXPECT_NEAR(wall / static_cast<double>(high.cycles), 1, 0.01);
  // A launch without MMAs has no other clock.
  const std::vector readers(8, steady(kL2, 25));
  EXPECT_EQ(launch_time(readers, capacity, {.times = &times, .sms = 8}).cycles,
            launch_time(readers, capacity).cycles);
}

TEST(FreeSlots, TheGpcThatHasEnoughFirstIsTaken) {
  const std::vector<uint32_t> gpcs = {0, 1, 0, 1};
  FreeSlots places(2, gpcs);
  EXPECT_FALSE(places.take());
  places.add({.at = 10, .place = 0});
  places.add({.at = 20, .place = 2});  // of the other GPC
  EXPECT_FALSE(places.take());
  places.add({.at = 40, .place = 5});
  places.add({.at = 30, .place = 7});
  const auto taken = places.take();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->front().place, 2u);
  EXPECT_EQ(taken->back().place, 7u);
  EXPECT_EQ(places.take()->back().place, 5u);
  EXPECT_FALSE(places.take());
}

TEST(FreeSlots, ACtaOfItsOwnTakesTheFirstOfAll) {
  const std::vector<uint32_t> gpcs = {0, 1};
  FreeSlots places(1, gpcs);
  places.add({.at = 30, .place = 0});
  places.add({.at = 10, .place = 1});
  EXPECT_EQ(places.take()->front().place, 1u);
  EXPECT_EQ(places.take()->front().place, 0u);
}

TEST(LaunchTime, PlacesBeginOneBehindTheOther) {
  LaunchCapacity capacity = machine(2, 2);
  capacity.begins = {0, 700};
  EXPECT_EQ(launch_time(std::vector(2, steady(kSlots, 1)), capacity).cycles,
            (16 * kInterval) + 700);
  // What follows in the first place does not wait for the second one's begin.
  const std::vector three = {steady(kSlots, 1, 4), steady(kSlots, 1, 4), steady(kSlots, 1, 16)};
  EXPECT_EQ(launch_time(three, capacity).cycles, 20 * kInterval);
}

TEST(LaunchTime, TheCtasOfAClusterWaitForEachOther) {
  // The second CTA of the first cluster shares its SM with the first CTA of the second one.
  DemandProfile pair{.duration = 16 * kInterval, .interval = kInterval, .intervals = {{}, {}}};
  pair.intervals[0].resize(16);
  pair.intervals[1].resize(16);
  for (auto& cta : pair.intervals)
    for (Amounts& amounts : cta) amounts[kTensor] = kInterval;
  LaunchCapacity capacity = machine(2, 3);
  capacity.ctas_per_cluster = 2;
  EXPECT_NEAR(cycles({pair, pair}, capacity), 2 * 16 * kInterval, kStepError);  // SMs 0 1, 2 0
  capacity.sms = 4;
  EXPECT_NEAR(cycles({pair, pair}, capacity), 16 * kInterval, kStepError);
}

TEST(LockstepTime, AddsWhatTwoCtasOfAnSmMiss) {
  LockstepTime none(machine(2, 1));
  none.add(steady(kTensor, 0.5F), 0, 0);
  none.add(steady(kTensor, 0.5F), 0, 1);
  EXPECT_EQ(none.missing(), 0u);
  LockstepTime all(machine(2, 1));
  all.add(steady(kTensor, 1), 0, 0);
  all.add(steady(kTensor, 1), 4 * kInterval, 1);  // 12 intervals at the same time
  EXPECT_EQ(all.missing(), 12 * kInterval);
  LockstepTime one_of_two(machine(4, 2));
  for (const uint64_t place : {uint64_t{0}, uint64_t{1}, uint64_t{2}})
    one_of_two.add(steady(kTensor, 1), 0, place);
  EXPECT_EQ(one_of_two.missing(), 16 * kInterval / 2);
}

TEST(LaunchTime, TellsHowBusyTheChipWas) {
  const LaunchTime time = launch_time(std::vector(2, steady(kHbm, 25)), machine(8, 8));
  EXPECT_NEAR(time.busy[kHbm], 1.0, 0.01);
  EXPECT_NEAR(time.busy[kL2], 0.0, 0.01);
  // What the machine does not have is not busy.
  LaunchCapacity without = machine(8, 8);
  without.a_cycle[kTensor] = 0;
  EXPECT_EQ(launch_time(std::vector(2, steady(kHbm, 25)), without).busy[kTensor], 0.0);
}

TEST(LaunchTime, TenThousandClustersTakeNoTime) {
  const std::vector many(10'000, steady(kL2, 10, 40));
  LaunchCapacity capacity = machine(264, 132);
  capacity.turnover = 500;
  const std::clock_t begin = std::clock();  // of the processor: others may use the cores
  const LaunchTime time = launch_time(many, capacity);
  const double taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  // All of them ask for ten bytes a cycle, the chip has a hundred.
  EXPECT_NEAR(static_cast<double>(time.cycles), 10'000.0 * 40 * kInterval / 10, 0.03 * 2e7);
  EXPECT_LT(taken, 1.0);  // some 0.03 s
}

}  // namespace
}  // namespace bw::sim::test::launch_time_test
