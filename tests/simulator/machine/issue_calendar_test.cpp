/// \file
/// Issue slots of a scheduler that several warps ask for.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "common/simulator/clock/sm_times.hpp"

namespace bw::sim {
namespace {

TEST(IssueCalendar, AWarpAloneHasASlotEachCycle) {
  IssueCalendar calendar;
  EXPECT_EQ(calendar.reserve(0, 100, 0), 100u);
  EXPECT_EQ(calendar.reserve(100, 50, 0), 150u);
  EXPECT_EQ(calendar.reserve(1000, 7, 0), 1007u);
}

TEST(IssueCalendar, WarpsThatIssueAlikeShareTheSlots) {
  constexpr uint32_t kWarps = 4, kRounds = 5, kSlots = 96;
  IssueCalendar calendar;
  std::array<Cycle, kWarps> time{};
  for (uint32_t round = 0; round < kRounds; ++round)
    for (uint32_t warp = 0; warp < kWarps; ++warp)
      time[warp] = calendar.reserve(time[warp], kSlots, warp);
  EXPECT_EQ(time[kWarps - 1], kRounds * kWarps * kSlots);
}

TEST(IssueCalendar, WarpsThatRunAheadOfEachOtherShareTheSlotsToo) {
  constexpr uint32_t kWarps = 4, kRounds = 50, kSlots = 96;
  IssueCalendar calendar;
  Cycle last = 0;
  for (uint32_t warp = 0; warp < kWarps; ++warp) {
    Cycle time = 0;
    for (uint32_t round = 0; round < kRounds; ++round) time = calendar.reserve(time, kSlots, warp);
    last = std::max(last, time);
  }
  EXPECT_EQ(last, kWarps * kRounds * kSlots);
}

TEST(IssueCalendar, WhoIssuesLittleDoesNotWaitForWhoIssuesMuch) {
  IssueCalendar calendar;
  EXPECT_EQ(calendar.reserve(1000, 1800, 0), 2800u);
  EXPECT_EQ(calendar.reserve(1064, 30, 1), 1064u + 2 * 30) << "every other slot";
  EXPECT_EQ(calendar.reserve(1320, 30, 2), 1320u + 2 * 30) << "warp 1 has had its slots";
  EXPECT_EQ(calendar.reserve(1370, 30, 1), 1370u + 3 * 30) << "two others";
}

TEST(IssueCalendar, WhoIssuesMuchWaits) {
  IssueCalendar calendar;
  EXPECT_EQ(calendar.reserve(0, 800, 0), 800u);
  EXPECT_EQ(calendar.reserve(0, 800, 1), 1600u);
  EXPECT_EQ(calendar.reserve(10, 30, 2), 1630u) << "nothing is known of it yet";
}

TEST(IssueCalendar, WhatNoWarpIssuesLeavesAPart) {
  IssueCalendar calendar;
  calendar.take_between(0, 319, 160);  // every other slot
  EXPECT_EQ(calendar.reserve(0, 80, 0), 160u);
  EXPECT_EQ(calendar.reserve(320, 80, 1), 400u) << "it is over";
}

TEST(IssueCalendar, WhatIsHadAheadOfOthersIsMissingBehindThem) {
  IssueCalendar calendar;
  EXPECT_EQ(calendar.reserve(1024, 800, 0), 1824u);
  EXPECT_EQ(calendar.reserve(1024, 100, 1), 1224u);
  EXPECT_EQ(calendar.reserve(1824, 800, 0), 1824u + 100 + 800);
}

}  // namespace
}  // namespace bw::sim
