/// \file
/// Vector clocks against a map of every agent, and the shadow of bytes against a list of every
/// access.
#include <algorithm>
#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "common/simulator/diagnosis/races/clock.hpp"
#include "common/simulator/diagnosis/races/handover.hpp"
#include "common/simulator/diagnosis/races/shadow.hpp"
#include "common/simulator/diagnosis/races/threads.hpp"

namespace bw::sim::races::race_clock_test {
namespace {

constexpr uint32_t kWarps = 3;

/// The reference: a number for every lane and chain.
struct PlainClock {
  std::array<std::array<Clock, kWarpLanes>, kWarps> lanes{};
  std::map<uint64_t, Clock> others;

  void join(const PlainClock& other) {
    for (size_t warp = 0; warp < kWarps; ++warp)
      for (size_t lane = 0; lane < kWarpLanes; ++lane)
        lanes[warp][lane] = std::max(lanes[warp][lane], other.lanes[warp][lane]);
    for (const auto& [agent, clock] : other.others) others[agent] = std::max(others[agent], clock);
  }
};

TEST(RaceClock, IsAMapOfEveryAgent) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t bound) { return random() % bound; };
  for (int run = 0; run < 200; ++run) {
    std::array<VectorClock, 3> clocks;
    std::array<PlainClock, 3> plain;
    for (int step = 0; step < 60; ++step) {
      const size_t i = below(3);
      const uint32_t warp = below(kWarps), clock = 1 + below(8);
      switch (below(4)) {
        case 0: {
          const LaneMask lanes = below(3) == 0 ? kAllLanes : random() & random();
          clocks[i].learn_lanes(warp, lanes, clock);
          for (const int lane : lanes_of(lanes))
            plain[i].lanes[warp][static_cast<size_t>(lane)] =
                std::max(plain[i].lanes[warp][static_cast<size_t>(lane)], clock);
          break;
        }
        case 1:
          clocks[i].learn_chain(warp, clock);
          plain[i].others[warp] = std::max(plain[i].others[warp], clock);
          break;
        case 2:
          clocks[i].learn_foreign_lanes(1000 + warp, 0, kAllLanes, clock);
          plain[i].others[1000 + warp] = std::max(plain[i].others[1000 + warp], clock);
          break;
        case 3: {
          const size_t j = below(3);
          clocks[i].join(clocks[j]);
          plain[i].join(PlainClock(plain[j]));
          break;
        }
      }
      for (uint32_t w = 0; w < kWarps; ++w)
        for (Clock c = 1; c <= 8; ++c) {
          LaneMask known = 0;
          for (int lane = 0; lane < kWarpLanes; ++lane)
            if (plain[i].lanes[w][static_cast<size_t>(lane)] >= c) known |= lane_bit(lane);
          ASSERT_EQ(clocks[i].lanes_known(w, c), known);
          ASSERT_EQ(clocks[i].knows_chain(w, c), plain[i].others[w] >= c);
          ASSERT_EQ(clocks[i].foreign_lanes_known(1000 + w, 0, c) == kAllLanes,
                    plain[i].others[1000 + w] >= c);
        }
    }
  }
}

/// What a cluster hands to others and gets back: foreign lanes and chains, against a map.
TEST(RaceClock, ForeignAgentsAreAMapToo) {
  std::mt19937 random(3);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  using Agent = std::array<uint64_t, 4>;  // cluster, whether a chain, warp or chain, lane
  for (int run = 0; run < 300; ++run) {
    // Neighbouring numbers of clusters, and warps and chains beyond one byte.
    const std::array<uint64_t, 3> clusters = {4, 5, 6};
    const std::array<uint32_t, 4> agents = {0, 1, 2, 300};
    const uint64_t home = clusters[below(3)];
    VectorClock clock;
    std::map<Agent, Clock> plain;
    const auto learn = [&](uint64_t cluster, bool is_chain, uint32_t agent, LaneMask lanes,
                           Clock to) {
      for (const int lane : is_chain ? lanes_of(1) : lanes_of(lanes)) {
        Clock& known = plain[{cluster, is_chain, agent, static_cast<uint64_t>(lane)}];
        known = std::max(known, to);
      }
    };
    for (int step = 0; step < 20; ++step) {
      const uint32_t agent = agents[below(4)];
      const Clock to = 1 + below(6);
      const LaneMask lanes = below(3) == 0   ? kAllLanes
                             : below(2) == 0 ? lane_bit(static_cast<int>(below(32)))
                                             : (random() & random()) | 0x80000001u;
      const uint64_t cluster = clusters[below(3)];
      switch (below(3)) {
        case 0:
          if (cluster == home) break;
          clock.learn_foreign_lanes(cluster, agent, lanes, to);
          learn(cluster, false, agent, lanes, to);
          break;
        case 1:
          clock.learn_lanes(agent, lanes, to);
          learn(home, false, agent, lanes, to);
          break;
        default:
          clock.learn_chain(agent, to);
          learn(home, true, agent, 1, to);
      }
    }
    const auto check = [&](const VectorClock& one, uint64_t own, const char* what) {
      for (const uint64_t cluster : clusters)
        for (const uint32_t agent : agents)
          for (Clock to = 1; to <= 6; ++to) {
            LaneMask known = 0;
            for (int lane = 0; lane < kWarpLanes; ++lane)
              if (plain[{cluster, false, agent, static_cast<uint64_t>(lane)}] >= to)
                known |= lane_bit(lane);
            ASSERT_EQ(one.known(cluster != own, cluster, false, agent, to), known)
                << what << ", warp " << agent << " of cluster " << cluster << ", clock " << to;
            ASSERT_EQ(one.known(cluster != own, cluster, true, agent, to) != 0,
                      (plain[{cluster, true, agent, 0}] >= to))
                << what << ", chain " << agent << " of cluster " << cluster << ", clock " << to;
          }
    };
    check(clock, home, "at home");
    constexpr uint64_t kNobody = 99;
    VectorClock abroad;
    abroad.join_foreign(clock, home);
    check(abroad, kNobody, "abroad");
    // It comes back to each of the clusters: what is of it is its own again, the rest stays
    // foreign.
    for (const uint64_t cluster : clusters) {
      VectorClock back = abroad;
      back.take_home(cluster);
      check(back, cluster, "back");
    }
  }
}

/// Clocks that share what they know of other clusters, and learn, copy and join each other, against
/// maps.
TEST(RaceClock, CopiesOfForeignClocksGrowApart) {
  std::mt19937 random(7);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  constexpr size_t kAgents = 40;  // clusters of several pages
  using Plain = std::array<Clock, kAgents>;
  for (int run = 0; run < 40; ++run) {
    std::array<VectorClock, 5> clocks;
    std::array<Plain, 5> plain{};
    for (int step = 0; step < 400; ++step) {
      const size_t one = below(clocks.size()), other = below(clocks.size());
      const size_t agent = below(kAgents);
      switch (below(8)) {
        case 0:
          clocks[one] = clocks[other];
          plain[one] = plain[other];
          break;
        case 1:
        case 2:
          clocks[one].join(clocks[other]);
          for (size_t k = 0; k < kAgents; ++k)
            plain[one][k] = std::max(plain[one][k], plain[other][k]);
          break;
        case 3:
          if (below(10) != 0) break;
          clocks[one].clear();
          plain[one] = {};
          break;
        default: {
          const Clock to = plain[one][agent] + static_cast<Clock>(below(2));
          clocks[one].learn_foreign_lanes(agent, 1, kAllLanes, to);
          plain[one][agent] = to;
        }
      }
      for (size_t k = 0; k < kAgents; ++k)
        for (Clock to = std::max(plain[one][k], 1u); to <= plain[one][k] + 1; ++to)
          ASSERT_EQ(clocks[one].foreign_lanes_known(k, 1, to) == kAllLanes, to <= plain[one][k])
              << "run " << run << ", step " << step;
      if (clocks[one] == clocks[other]) {
        ASSERT_EQ(plain[one], plain[other]) << "run " << run << ", step " << step;
      }
      VectorClock both = clocks[one];
      both.join(clocks[other]);
      for (size_t k = 0; k < kAgents; ++k) {
        const Clock to = std::max(plain[one][k], plain[other][k]);
        ASSERT_EQ(both.foreign_lanes_known(k, 1, to + 1), 0u);
        ASSERT_EQ(to == 0 || both.foreign_lanes_known(k, 1, to) == kAllLanes, true);
      }
    }
  }
}

/// One lane that has accessed bytes, and everything that it knew then.
struct PlainAccess {
  uint32_t warp = 0;
  int lane = 0;
  uint64_t serial = 0;  ///< of its lane
  uint64_t first = 0, end = 0;
  bool writes = false;
};

/// What every lane knows: how many of its steps of each lane come before.
class PlainOrder {
 public:
  using Known = std::array<uint64_t, size_t{kWarps} * kWarpLanes>;
  static size_t index(uint32_t warp, int lane) {
    return size_t{warp} * kWarpLanes + static_cast<size_t>(lane);
  }
  uint64_t step(uint32_t warp, int lane) {
    const size_t i = index(warp, lane);
    return ++known_[i][i];
  }
  [[nodiscard]] const Known& known(uint32_t warp, int lane) const {
    return known_[index(warp, lane)];
  }
  void join(uint32_t warp, int lane, const Known& other) {
    Known& own = known_[index(warp, lane)];
    for (size_t i = 0; i < own.size(); ++i) own[i] = std::max(own[i], other[i]);
  }

 private:
  std::array<Known, size_t{kWarps} * kWarpLanes> known_{};
};

Origin origin_of(uint32_t warp, LaneMask lanes) {
  return {nullptr, 0, static_cast<uint16_t>(warp), lanes};
}

/// Random accesses, arrivals and waits: the first race is found at the access at which a list of
/// all accesses finds it.
TEST(RaceShadow, FindsTheFirstRaceThatAListOfAllAccessesFinds) {
  std::mt19937 random(11);
  const auto below = [&](uint32_t bound) { return random() % bound; };
  int races = 0, silent = 0;
  for (int run = 0; run < 1500; ++run) {
    Threads threads(1, kWarps);
    AccessorTable accessors;
    ByteShadow shadow(accessors);
    std::array<Handover, 2> objects;
    std::array<PlainOrder::Known, 2> plain_objects{};
    PlainOrder order;
    std::vector<PlainAccess> all;
    // Some runs hardly ever write.
    const uint32_t reads_in = run % 3 == 0 ? 500 : 2 + below(6);
    bool ended = false;
    for (int step = 0; step < 80 && !ended; ++step) {
      const uint32_t warp = below(kWarps);
      const LaneMask lanes = below(2) == 0   ? kAllLanes
                             : below(2) == 0 ? lane_bit(static_cast<int>(below(32)))
                                             : random();
      if (lanes == 0) continue;
      const Origin origin = origin_of(warp, lanes);
      const uint32_t kind = below(6);
      if (kind == 0) {
        const size_t i = below(2);
        objects[i].release(threads, origin, {MemoryOrder::release, MemoryScope::cta}, nullptr);
        for (const int lane : lanes_of(lanes))
          for (size_t k = 0; k < plain_objects[i].size(); ++k)
            plain_objects[i][k] = std::max(plain_objects[i][k], order.known(warp, lane)[k]);
      } else if (kind == 1) {
        const size_t i = below(2);
        objects[i].acquire(threads, origin, {MemoryOrder::acquire, MemoryScope::cta}, nullptr);
        for (const int lane : lanes_of(lanes)) order.join(warp, lane, plain_objects[i]);
      } else if (kind == 2) {
        threads.meet(origin);
        PlainOrder::Known joined{};
        for (const int lane : lanes_of(lanes))
          for (size_t k = 0; k < joined.size(); ++k)
            joined[k] = std::max(joined[k], order.known(warp, lane)[k]);
        for (const int lane : lanes_of(lanes)) order.join(warp, lane, joined);
      } else {
        // Lanes one after the other, or all at one place.
        Accessor accessor;
        accessor.agent = warp;
        accessor.warp = static_cast<uint16_t>(warp);
        accessor.writes = below(reads_in) == 0;
        Touch touch;
        touch.number = accessors.number(accessor);
        touch.accessor = &accessors[touch.number];
        touch.clock = threads.now(origin);
        touch.warp = warp;
        const uint32_t bytes = 1u << below(4);
        const uint64_t address = 8 * below(16);
        const bool is_row = lanes == kAllLanes && below(2) == 0;
        std::vector<PlainAccess> now;
        for (const int lane : lanes_of(lanes)) {
          const uint64_t first = address + (is_row ? static_cast<uint32_t>(lane) * bytes : 0);
          now.push_back({warp, lane, 0, first, first + bytes, accessor.writes});
        }
        bool expected = false;
        for (const PlainAccess& access : now)
          for (const PlainAccess& earlier : all)
            if (earlier.first < access.end && access.first < earlier.end &&
                (earlier.writes || access.writes) &&
                order.known(access.warp,
                            access.lane)[PlainOrder::index(earlier.warp, earlier.lane)] <
                    earlier.serial)
              expected = true;
        for (PlainAccess& access : now) {
          access.serial = order.step(access.warp, access.lane);
          all.push_back(access);
        }
        bool found = false;
        const auto note = [&](const Conflict& conflict) {
          found = true;
          EXPECT_NE(conflict.earlier_lane, -1);
          EXPECT_GT(conflict.bytes, 0u);
        };
        threads.for_groups(origin, [&](LaneMask group_lanes, const LaneGroup& group) {
          touch.lanes = group_lanes;
          touch.view = &group.view;
          if (is_row) {
            for (LaneMask rest = group_lanes; rest != 0;) {
              const int first = lowest_lane(rest);
              const int count = std::countr_one(rest >> first);
              shadow.run<true, false>(address + static_cast<uint32_t>(first) * bytes, bytes, first,
                                      count, touch, note);
              rest &= count == kWarpLanes - first ? (LaneMask{1} << first) - 1
                                                  : ~(((LaneMask{1} << count) - 1) << first);
            }
          } else {
            shadow.check(address, bytes, touch, note);
          }
        });
        threads.for_groups(origin, [&](LaneMask group_lanes, const LaneGroup& group) {
          touch.lanes = group_lanes;
          touch.view = &group.view;
          const auto ignore = [](const Conflict&) {};
          if (is_row) {
            for (const int lane : lanes_of(group_lanes))
              shadow.run<false, true>(address + static_cast<uint32_t>(lane) * bytes, bytes, lane, 1,
                                      touch, ignore);
          } else {
            shadow.add(address, bytes, touch);
          }
        });
        ASSERT_EQ(found, expected) << "run " << run << ", step " << step;
        ended = found;
      }
    }
    ++(ended ? races : silent);
  }
  EXPECT_GT(races, 100);
  EXPECT_GT(silent, 20);
}

/// Of more readers than a block has room for none is forgotten: a write races with the one that it
/// does not know, however long ago that has read.
TEST(RaceShadow, ForgetsNoReaderOfABlock) {
  constexpr uint32_t kReaders = 30;
  for (uint32_t unknown = 0; unknown < kReaders; ++unknown) {
    Threads threads(1, kReaders + 1);
    AccessorTable accessors;
    ByteShadow shadow(accessors);
    const auto touch_of = [&](uint32_t warp, bool writes) {
      Accessor accessor;
      accessor.agent = warp;
      accessor.warp = static_cast<uint16_t>(warp);
      accessor.writes = writes;
      Touch touch;
      touch.number = accessors.number(accessor);
      touch.accessor = &accessors[touch.number];
      touch.clock = threads.now(origin_of(warp, 1));
      touch.warp = warp;
      touch.lanes = 1;
      return touch;
    };
    View all_but_one;
    for (uint32_t warp = 0; warp < kReaders; ++warp) {
      View nothing;
      Touch touch = touch_of(warp, false);
      touch.view = &nothing;
      shadow.check_and_add(8, 4, touch, [](const Conflict&) { ADD_FAILURE(); });
      if (warp != unknown) all_but_one.generic.learn_lanes(warp, 1, touch.clock);
    }
    Touch write = touch_of(kReaders, true);
    write.view = &all_but_one;
    std::vector<uint32_t> found;
    const auto note = [&](const Conflict& conflict) {
      found.push_back(accessors[conflict.earlier.number()].agent);
    };
    shadow.check_and_add(8, 4, write, note);
    EXPECT_EQ(found, std::vector<uint32_t>{unknown});
    // The write has replaced them all.
    found.clear();
    shadow.forget(8, 4);
    Touch again = touch_of(kReaders, true);
    const View nothing;
    again.view = &nothing;
    shadow.check(8, 4, again, note);
    EXPECT_EQ(found, std::vector<uint32_t>{});
  }
}

TEST(RaceShadow, TakesAtMostTwelveBytesForEachByteInUse) {
  Threads threads(1, kWarps);
  AccessorTable accessors;
  ByteShadow shadow(accessors);
  constexpr uint32_t kBytes = 64 * 1024;
  // Every warp reads all, four bytes a lane, then one writes: as a tile that is filled and read.
  for (int round = 0; round < 3; ++round)
    for (uint32_t warp = 0; warp < kWarps; ++warp)
      for (uint32_t at = 0; at < kBytes; at += 128) {
        Accessor accessor;
        accessor.agent = warp;
        accessor.warp = static_cast<uint16_t>(warp);
        Touch touch;
        touch.number = accessors.number(accessor);
        touch.accessor = &accessors[touch.number];
        touch.clock = threads.now(origin_of(warp, kAllLanes));
        touch.warp = warp;
        touch.lanes = kAllLanes;
        threads.for_groups(origin_of(warp, kAllLanes), [&](LaneMask, const LaneGroup& group) {
          touch.view = &group.view;
          shadow.run<true, true>(at, 4, 0, kWarpLanes, touch, [](const Conflict&) {});
        });
      }
  EXPECT_EQ(shadow.bytes_in_use(), kBytes);
  EXPECT_LE(shadow.footprint_bytes(), 12u * kBytes);
}

}  // namespace
}  // namespace bw::sim::races::race_clock_test
