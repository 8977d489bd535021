/// \file
/// The lanes of a mask.
#include <gtest/gtest.h>

#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim::test {
namespace {

std::vector<int> listed(LaneMask mask) {
  std::vector<int> lanes;
  for (const int lane : lanes_of(mask)) lanes.push_back(lane);
  return lanes;
}

TEST(LanesOf, ListsSetBitsAscending) {
  EXPECT_TRUE(listed(0).empty());
  EXPECT_EQ(listed(lane_bit(0)), (std::vector<int>{0}));
  EXPECT_EQ(listed(lane_bit(31)), (std::vector<int>{31}));
  EXPECT_EQ(listed(0x80000105u), (std::vector<int>{0, 2, 8, 31}));
  EXPECT_EQ(listed(kAllLanes).size(), size_t{kWarpLanes});
}

TEST(LanesOf, VisitsWhatForLanesVisits) {
  for (const LaneMask mask : {0x0000ffffu, 0xaaaaaaaau, kAllLanes, 0x00010000u}) {
    std::vector<int> visited;
    for_lanes(mask, [&](int lane) { visited.push_back(lane); });
    EXPECT_EQ(listed(mask), visited) << mask;
  }
}

}  // namespace
}  // namespace bw::sim::test
