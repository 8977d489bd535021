/// \file
/// What races in global memory rest on: clocks between clusters, what locations hand on by scope,
/// the order of streams, which bytes were written. Whole programs are in
/// tests/simulator/global_races.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/simulator/diagnosis/races/location_order.hpp"
#include "common/simulator/diagnosis/races/stream_order.hpp"
#include "common/simulator/diagnosis/written_bytes.hpp"

namespace bw::sim::test::race_global_test {
namespace {

using namespace bw::sim::races;

TEST(RaceGlobalClocks, WhatAnotherClusterKnowsComesHome) {
  VectorClock clock;
  clock.learn_lanes(1, kAllLanes, 7);
  clock.learn_lanes(2, 0b110, 9);
  clock.learn_chain(3, 5);
  VectorClock abroad;
  abroad.join_foreign(clock, 40);
  EXPECT_EQ(abroad.lanes_known(1, 7), 0u) << "that is another cluster's warp 1";
  EXPECT_EQ(abroad.foreign_lanes_known(40, 1, 7), kAllLanes);
  EXPECT_EQ(abroad.foreign_lanes_known(40, 1, 8), 0u);
  EXPECT_EQ(abroad.foreign_lanes_known(40, 2, 9), 0b110u);
  EXPECT_EQ(abroad.foreign_lanes_known(41, 1, 7), 0u);
  EXPECT_EQ(abroad.known(true, 40, true, 3, 5), kAllLanes);
  EXPECT_EQ(abroad.known(true, 40, true, 3, 6), 0u);

  VectorClock other;
  other.learn_foreign_lanes(40, 2, 0b001, 9);
  other.join(abroad);
  EXPECT_EQ(other.foreign_lanes_known(40, 2, 9), 0b111u);
  other.take_home(40);
  EXPECT_EQ(other.lanes_known(1, 7), kAllLanes);
  EXPECT_EQ(other.lanes_known(2, 9), 0b111u);
  EXPECT_TRUE(other.knows_chain(3, 5));
}

TEST(RaceGlobalClocks, SharedTablesStayApartWhereOneLearnsMore) {
  const auto learn = [](VectorClock& clock, uint64_t cluster, Clock to) {
    clock.learn_foreign_lanes(cluster, 0, kAllLanes, to);
  };
  const auto known = [](const VectorClock& clock, uint64_t cluster) {
    Clock to = 0;
    while (clock.foreign_lanes_known(cluster, 0, to + 1) == kAllLanes) ++to;
    return to;
  };
  VectorClock one;
  for (uint64_t cluster = 1; cluster <= 100; ++cluster) learn(one, cluster, 5);
  VectorClock two = one, three = one;
  learn(two, 7, 9);
  learn(three, 8, 6);
  EXPECT_EQ(known(one, 7), 5u);
  EXPECT_EQ(known(three, 7), 5u);
  EXPECT_EQ(known(two, 8), 5u);

  VectorClock both = two;
  both.join(three);
  both.join(one);
  EXPECT_EQ(known(both, 7), 9u);
  EXPECT_EQ(known(both, 8), 6u);
  EXPECT_EQ(known(both, 100), 5u);
  three.join(both);
  EXPECT_EQ(three, both);
  learn(three, 101, 1);
  EXPECT_EQ(known(both, 101), 0u) << "copies share a tree until one of them learns more";
  both.join(three);
  EXPECT_EQ(known(both, 101), 1u);
}

constexpr ThreadPosition kHere{0, 0}, kPeer{0, 1}, kFar{1, 0};

TEST(RaceGlobalScopes, MeetWhereEachContainsTheOther) {
  using Scope = MemoryScope;
  EXPECT_TRUE(scopes_meet(kHere, Scope::cta, kHere, Scope::cta));
  EXPECT_TRUE(scopes_meet(kHere, Scope::cta, kHere, Scope::sys));
  EXPECT_FALSE(scopes_meet(kHere, Scope::cta, kPeer, Scope::sys));
  EXPECT_TRUE(scopes_meet(kHere, Scope::cluster, kPeer, Scope::gpu));
  EXPECT_FALSE(scopes_meet(kHere, Scope::cluster, kFar, Scope::gpu));
  EXPECT_TRUE(scopes_meet(kHere, Scope::gpu, kFar, Scope::sys));
}

SharedView knowing(uint32_t warp, Clock clock) {
  View view;
  view.generic.learn_lanes(warp, kAllLanes, clock);
  return SharedView::make(std::move(view));
}

TEST(RaceGlobalLocations, AStoreReplacesWhatAnAtomicAddsTo) {
  LocationTable table;
  const Location place = Location::global(64);
  const Released first{kHere, MemoryScope::gpu, knowing(0, 3)};
  const Released second{kFar, MemoryScope::gpu, knowing(1, 4)};
  table.write(place, false, {&first, 1}, {});
  table.write(place, true, {&second, 1}, {});
  ASSERT_NE(table.read(place), nullptr);
  EXPECT_EQ(table.read(place)->released.size(), 2u) << "a read of the atomic's value sees both";
  // A second release from one place with one scope is one with the first.
  const Released third{kHere, MemoryScope::gpu, knowing(2, 5)};
  table.write(place, true, {&third, 1}, {});
  ASSERT_EQ(table.read(place)->released.size(), 2u);
  EXPECT_TRUE(table.read(place)->released[0].view->generic.knows_lanes(0, kAllLanes, 3));
  EXPECT_TRUE(table.read(place)->released[0].view->generic.knows_lanes(2, kAllLanes, 5));
  table.write(place, false, {}, {});
  EXPECT_TRUE(table.read(place)->released.empty());
  EXPECT_EQ(table.read(Location::global(68)), nullptr);
}

TEST(RaceGlobalLocations, AFenceGoesWithLaterStrongWritesByTheNarrowerScope) {
  ThreadOrder thread;
  std::vector<Released> released;
  thread.collect_released(kHere, MemoryScope::gpu, released);
  EXPECT_TRUE(released.empty());
  thread.release_fence(MemoryScope::gpu, knowing(0, 3));
  thread.release_fence(MemoryScope::cta, knowing(0, 5));
  thread.collect_released(kHere, MemoryScope::sys, released);
  ASSERT_EQ(released.size(), 2u) << "the later fence reaches less far";
  EXPECT_EQ(released[0].scope, MemoryScope::gpu);
  EXPECT_EQ(released[1].scope, MemoryScope::cta);
  // A wider fence takes the place of narrower ones before it.
  released.clear();
  thread.release_fence(MemoryScope::sys, knowing(0, 6));
  thread.collect_released(kHere, MemoryScope::cluster, released);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].scope, MemoryScope::cluster);
}

TEST(RaceGlobalLocations, ARelaxedReadWaitsForItsFence) {
  ThreadOrder thread;
  const Released found{kFar, MemoryScope::gpu, knowing(1, 4)};
  EXPECT_TRUE(thread.keep(Location::global(64), found, 0, MemoryScope::gpu));
  EXPECT_FALSE(thread.keep(Location::global(64), found, 0, MemoryScope::gpu)) << "a loop spins";
  int reached = 0, missed = 0;
  const auto count = [&](Location, const Released&, bool meets) { ++(meets ? reached : missed); };
  thread.acquire_fence(kHere, MemoryScope::cluster, count);
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(missed, 1);
  thread.acquire_fence(kHere, MemoryScope::gpu, count);
  EXPECT_EQ(reached, 1);
  // The read's own scope counts as well.
  ThreadOrder narrow;
  narrow.keep(Location::global(64), found, 0, MemoryScope::cta);
  narrow.acquire_fence(kHere, MemoryScope::sys, count);
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(missed, 2);
}

TEST(RaceGlobalLocations, ARelaxedReadKeepsWhatAStoreHasReplaced) {
  ThreadOrder thread;
  const auto find = [&](uint32_t warp, uint32_t stores) {
    thread.keep(Location::global(64), {kFar, MemoryScope::gpu, knowing(warp, 1)}, stores,
                MemoryScope::gpu);
  };
  find(0, 0);
  find(1, 1);
  find(2, 1);  // by atomics, whose view would hold that of warp 1
  find(3, 2);
  View known;
  thread.acquire_fence(kHere, MemoryScope::gpu,
                       [&](Location, const Released& one, bool) { known.join(*one.view); });
  EXPECT_TRUE(known.generic.knows_lanes(0, kAllLanes, 1));
  EXPECT_FALSE(known.generic.knows_lanes(1, kAllLanes, 1));
  EXPECT_TRUE(known.generic.knows_lanes(2, kAllLanes, 1));
  EXPECT_TRUE(known.generic.knows_lanes(3, kAllLanes, 1));
}

using Launch = std::shared_ptr<StreamOperation>;

bool knows(const VectorClock& clock, const Launch& earlier) {
  return clock.knows_chain(earlier->chain, earlier->clock);
}

/// Whether `later` comes after `earlier`: what it does after its wait, if it is a launch with one.
bool is_after(const Launch& later, const Launch& earlier) {
  later->settle();
  return knows(later->before, earlier);
}

/// Whether even what `later` does before its wait comes after `earlier`.
bool begins_after(const Launch& later, const Launch& earlier) {
  later->settle();
  return knows(later->before_early, earlier);
}

TEST(RaceGlobalStreams, AreOrderedByEventsAndTheHost) {
  StreamOrder order;
  int handles[3] = {};
  const StreamOrder::Stream a{&handles[0], false, false}, b{&handles[1], false, false};
  const Launch first = order.begin(a), second = order.begin(a);
  EXPECT_TRUE(is_after(second, first));
  EXPECT_FALSE(is_after(order.begin(b), first));
  order.record(&handles[2], a);
  const Launch third = order.begin(a);
  order.wait(b, &handles[2]);
  const Launch behind_event = order.begin(b);
  EXPECT_TRUE(is_after(behind_event, second));
  EXPECT_FALSE(is_after(behind_event, third)) << "submitted after the event";
  EXPECT_FALSE(order.host_knows_all());
  order.host_waits_for(a);
  EXPECT_TRUE(is_after(order.begin(b), third));
  order.host_waits_for_all();
  EXPECT_TRUE(order.host_knows_all());
}

TEST(RaceGlobalStreams, TheLegacyStreamWaitsForThoseThatBlock) {
  StreamOrder order;
  int handles[3] = {};
  const StreamOrder::Stream legacy{&handles[0], true, true}, blocking{&handles[1], false, true},
      other{&handles[2], false, false};
  const Launch in_blocking = order.begin(blocking), in_other = order.begin(other);
  const Launch in_legacy = order.begin(legacy);
  EXPECT_TRUE(is_after(in_legacy, in_blocking));
  EXPECT_FALSE(is_after(in_legacy, in_other));
  EXPECT_TRUE(is_after(order.begin(blocking), in_legacy));
  EXPECT_FALSE(is_after(order.begin(other), in_legacy));
  // What a destroyed stream has done stays in the order; its handle means another stream then.
  const Launch last = order.begin(blocking);
  order.forget_stream(&handles[1]);
  EXPECT_TRUE(is_after(order.begin(legacy), last));
}

/// A chain of an ordinary launch and two early ones, of which the middle one has run so.
struct Chain {
  Chain(bool middle_waits, bool triggers_after_wait) {
    using Kind = StreamOrder::Kind;
    first = order.begin(stream, Kind::kernel);
    middle = order.begin(stream, Kind::early_kernel);
    last = order.begin(stream, Kind::early_kernel);
    middle->name = "middle";
    middle->has_waited = middle_waits;
    middle->triggers_after_wait = triggers_after_wait;
  }
  int handle = 0;
  StreamOrder order;
  StreamOrder::Stream stream{&handle, false, true};
  Launch first, middle, last;
};

TEST(RaceGlobalStreams, ADependentLaunchMayBeginEarly) {
  const Chain chain(/*middle_waits=*/true, /*triggers_after_wait=*/false);
  EXPECT_FALSE(begins_after(chain.middle, chain.first));
  EXPECT_TRUE(is_after(chain.middle, chain.first));
  EXPECT_FALSE(begins_after(chain.last, chain.middle));
  EXPECT_TRUE(is_after(chain.last, chain.middle));
  EXPECT_FALSE(begins_after(chain.last, chain.first)) << "the middle one triggers before its wait";
  EXPECT_TRUE(is_after(chain.last, chain.first));
  EXPECT_EQ(chain.last->does_not_wait, "");
}

TEST(RaceGlobalStreams, ALaunchThatTriggersBehindItsWaitHasAnEarlierOneEnded) {
  const Chain chain(/*middle_waits=*/true, /*triggers_after_wait=*/true);
  EXPECT_TRUE(begins_after(chain.last, chain.first));
  EXPECT_FALSE(begins_after(chain.last, chain.middle));
}

TEST(RaceGlobalStreams, AWaitCoversTheLaunchInFrontAlone) {
  Chain chain(/*middle_waits=*/false, /*triggers_after_wait=*/false);
  EXPECT_TRUE(is_after(chain.last, chain.middle));
  EXPECT_FALSE(is_after(chain.last, chain.first));
  EXPECT_TRUE(knows(chain.last->in_order, chain.first));
  EXPECT_EQ(chain.last->does_not_wait, "middle");
  // Work without the attribute comes after everything in its stream.
  EXPECT_TRUE(is_after(chain.order.begin(chain.stream), chain.first));
}

TEST(RaceGlobalStreams, ALaunchOverlapsWithLaunchesAlone) {
  using Kind = StreamOrder::Kind;
  StreamOrder order;
  int handle = 0;
  const StreamOrder::Stream stream{&handle, false, true};
  const Launch kernel = order.begin(stream, Kind::kernel), fill = order.begin(stream);
  const Launch early = order.begin(stream, Kind::early_kernel);
  EXPECT_FALSE(early->is_programmatic);
  EXPECT_TRUE(begins_after(early, fill));
  EXPECT_TRUE(begins_after(early, kernel));
}

TEST(RaceGlobalStreams, AProgrammaticEventSaysThatALaunchHasTriggered) {
  using Kind = StreamOrder::Kind;
  StreamOrder order;
  int handles[3] = {};
  const StreamOrder::Stream a{&handles[0], false, false}, b{&handles[1], false, false};
  const Launch before = order.begin(a);
  const Launch first = order.begin(a, Kind::kernel);
  order.record(&handles[2], first, Reached::triggered, /*waitable=*/true);
  order.wait(b, &handles[2]);
  const Launch second = order.begin(b, Kind::kernel);
  EXPECT_TRUE(second->is_programmatic);
  EXPECT_TRUE(begins_after(second, before));
  EXPECT_FALSE(begins_after(second, first));
  EXPECT_TRUE(is_after(second, first));
  second->has_waited = true;
  EXPECT_TRUE(is_after(order.begin(b), first)) << "the second launch has waited for the first";
  // griddepcontrol.wait does not see the event of a launch's begin.
  order.record(&handles[2], first, Reached::started, /*waitable=*/false);
  const StreamOrder::Stream c{&handles[1], false, false};
  order.forget_stream(&handles[1]);
  order.wait(c, &handles[2]);
  const Launch third = order.begin(c, Kind::kernel);
  EXPECT_FALSE(third->is_programmatic);
  EXPECT_FALSE(is_after(third, first));
}

TEST(WrittenBytes, AreKnownToTheByte) {
  WrittenBytes bytes;
  bytes.add(1000, 200);
  EXPECT_EQ(bytes.first_unwritten(1000, 200).size_bytes, 200u);
  bytes.write(1000, 70);
  bytes.write(1075, 60);
  const ByteRange hole = bytes.first_unwritten(1000, 200);
  EXPECT_EQ(hole.address, 1070u);
  EXPECT_EQ(hole.size_bytes, 5u);
  EXPECT_EQ(bytes.first_unwritten(1075, 60).size_bytes, 0u);
  EXPECT_EQ(bytes.first_unwritten(1134, 2).address, 1135u);
  EXPECT_EQ(bytes.first_unwritten(5000, 8).size_bytes, 0u) << "memory that it does not know";
  bytes.remove(1000);
  EXPECT_EQ(bytes.first_unwritten(1000, 8).size_bytes, 0u);
}

TEST(WrittenBytes, CopiesBringHolesAlong) {
  WrittenBytes bytes;
  bytes.add(1000, 16);
  bytes.add(2000, 16);
  bytes.write(1000, 4);
  bytes.write(2000, 16);
  bytes.copy(2000, 1000, 16);
  EXPECT_EQ(bytes.first_unwritten(2000, 16).address, 2004u);
  bytes.copy(2004, 9000, 12);  // from memory that counts as written
  EXPECT_EQ(bytes.first_unwritten(2000, 16).size_bytes, 0u);
  bytes.copy(1004, 1000, 8);  // overlapping
  EXPECT_EQ(bytes.first_unwritten(1000, 16).address, 1008u);
}

}  // namespace
}  // namespace bw::sim::test::race_global_test
