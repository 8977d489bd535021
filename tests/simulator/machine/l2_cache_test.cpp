/// \file
/// The pages that the L2 cache holds between launches, which it loses, and which are dirty.
#include "common/simulator/clock/l2_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace bw::sim::test::l2_cache_test {
namespace {

constexpr uint64_t kMegabyte = 1024 * 1024;

L2Lines all_lines() {
  L2Lines all;
  for (uint64_t& word : all.words) word = ~uint64_t{0};
  return all;
}

TEST(L2CacheTest, ASideLosesMoreAndMore) {
  // Of what is read again and again.
  const auto lost_part = [](uint64_t megabytes) {
    L2Cache cache(50 * kMegabyte, 0, 0.3);
    const L2Lines all = all_lines();
    const uint64_t pages = megabytes * kMegabyte / kL2PageBytes;
    uint64_t lost = 0;
    for (int pass = 0; pass < 3; ++pass) {
      lost = 0;
      for (uint64_t page = 0; page < pages; ++page) {
        lost += kL2PageLines - cache.find(page)[0].count();
        cache.use(page, all, 0);
      }
    }
    return static_cast<double>(lost) / static_cast<double>(pages * kL2PageLines);
  };
  EXPECT_EQ(lost_part(24), 0);
  // The mean of two random numbers is below 0.4: of 7.5 megabytes too many there are 3.
  EXPECT_NEAR(lost_part(28), 0.32, 0.05);
  EXPECT_NEAR(lost_part(31), 0.92, 0.05);
  EXPECT_EQ(lost_part(34), 1);
}

TEST(L2CacheTest, LosesLinesByTwos) {
  L2Cache cache(50 * kMegabyte, 0, 0.3);
  const L2Lines all = all_lines();
  constexpr uint64_t kPages = 28 * kMegabyte / kL2PageBytes;
  for (uint64_t page = 0; page < kPages; ++page) cache.use(page, all, 0);
  uint64_t lost = 0, parted = 0, changes = 0;
  for (uint64_t page = 0; page < kPages; ++page) {
    const L2SideLines held = cache.find(page);
    for (const uint64_t word : held[0].words)
      for (uint32_t line = 0; line + 3 < 64; line += 2) {
        lost += (word >> line & 1) == 0 ? 1 : 0;
        parted += (word >> line & 1) != (word >> (line + 1) & 1) ? 1 : 0;
        changes += (word >> line & 1) != (word >> (line + 2) & 1) ? 1 : 0;
      }
  }
  EXPECT_EQ(parted, 0u);
  EXPECT_GT(lost, 1000u);
  EXPECT_GT(changes, lost / 4) << "chunks of a page are not lost as a whole";
}

TEST(L2CacheTest, WhatComesInDrivesOutAsMuchOfWhatIsDirtyAtFirstAsLater) {
  L2Cache cache(50 * kMegabyte, 20 * kMegabyte);
  cache.write(0, 200 * kMegabyte);
  cache.take_written_back();
  const L2Lines all = all_lines();
  uint64_t page = 300 * kMegabyte / kL2PageBytes;
  for (int part = 0; part < 5; ++part) {
    for (uint64_t i = 0; i < 10 * kMegabyte / kL2PageBytes; ++i) cache.use(page++, all);
    EXPECT_NEAR(cache.take_written_back(), 4 * kMegabyte, 1.5 * kMegabyte) << part;
  }
  EXPECT_EQ(cache.dirty_bytes(), 0u);
}

TEST(L2CacheTest, ManyPagesOfFewLines) {
  L2Cache cache(50 * kMegabyte, kMegabyte, 0.3);
  L2Lines one;
  one.words[0] = 1;
  constexpr uint64_t kPages = 100'000;
  for (uint64_t page = 0; page < kPages; ++page) cache.write_lines(page, one);
  EXPECT_LE(cache.used_bytes(), cache.capacity_bytes());
  EXPECT_LE(cache.dirty_bytes(), kMegabyte);
  const L2SideLines last = cache.find(kPages - 1);
  EXPECT_EQ(last[0].count() + last[1].count(), 1u);
}

TEST(L2CacheTest, AShareIsDirtyOnceItIsFull) {
  L2Cache cache(50 * kMegabyte, 20 * kMegabyte);
  cache.write(0, 10 * kMegabyte);
  for (uint64_t page = 1000; cache.used_bytes() < 50 * kMegabyte; ++page) {
    EXPECT_EQ(cache.dirty_share(), 0);
    cache.use(page, all_lines());
  }
  EXPECT_EQ(cache.dirty_share(), 0.2);
}

}  // namespace
}  // namespace bw::sim::test::l2_cache_test
