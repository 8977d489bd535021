/// \file
/// What the timing model takes an access of a warp for: passes of shared memory, and the lines that
/// the first-level cache holds.
#include "common/simulator/clock/access_times.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "common/simulator/clock/l1_cache.hpp"

namespace bw::sim {
namespace {

constexpr size_t kWindowBytes = 32 * 1024;

/// Passes of `active` lanes, each of which accesses `bytes` at `stride` from the one before.
uint32_t passes(uint32_t bytes, size_t stride, LaneMask active = kAllLanes) {
  static const std::vector<std::byte> window(kWindowBytes);
  std::array<const std::byte*, kWarpLanes> own{};
  for (size_t lane = 0; lane < own.size(); ++lane) own[lane] = window.data() + lane * stride;
  return access_times::bank_passes({.active = active, .bytes = bytes, .own = own.data()},
                                   window.data());
}

TEST(BankPasses, WordsOneBehindTheOtherTakeOne) { EXPECT_EQ(passes(4, 4), 1u); }

TEST(BankPasses, AsManyAsLanesShareABank) {
  for (const uint32_t ways : {1u, 2u, 4u, 8u, 16u, 32u}) EXPECT_EQ(passes(4, 4 * ways), ways);
}

TEST(BankPasses, OddDistancesMeetAllBanks) {
  for (const size_t words : {3, 17, 33}) EXPECT_EQ(passes(4, 4 * words), 1u) << words;
}

TEST(BankPasses, LanesAtOneWordAreServedTogether) {
  EXPECT_EQ(passes(4, 0), 1u);
  EXPECT_EQ(passes(1, 1), 1u) << "four lanes a word";
  EXPECT_EQ(passes(2, 2), 1u) << "two lanes a word";
}

TEST(BankPasses, WideAccessesTakeAPassForEach128Bytes) {
  EXPECT_EQ(passes(8, 8), 2u);
  EXPECT_EQ(passes(16, 16), 4u);
  EXPECT_EQ(passes(16, 32), 8u) << "rows of 32 bytes, as measured on an H100";
  EXPECT_EQ(passes(16, 128), 32u);
  EXPECT_EQ(passes(16, 128 + 16), 4u) << "padded rows";
}

/// Passes of a load of `bytes` a lane, lane l from place(l) on, counted in such words.
template <class PlaceOf>
uint32_t passes_of_load(uint32_t bytes, PlaceOf&& place) {
  static const std::vector<std::byte> window(kWindowBytes);
  std::array<const std::byte*, kWarpLanes> own{};
  for (size_t lane = 0; lane < own.size(); ++lane) own[lane] = window.data() + bytes * place(lane);
  return access_times::load_passes({.active = kAllLanes, .bytes = bytes, .own = own.data()},
                                   window.data());
}

// shared_memory.load8_same, load16_same and ..._in_turn, as measured on an H100.
TEST(BankPasses, HalvesOfAWideLoadAreServedTogetherWhereNeighboursAskForTheSame) {
  for (const size_t same : {2, 4, 8, 16, 32}) {
    const auto of_neighbours = [&](size_t lane) { return lane / same; };
    EXPECT_EQ(passes_of_load(8, of_neighbours), 1u) << same;
    EXPECT_EQ(passes_of_load(16, of_neighbours), 2u) << same;
  }
  for (const size_t places : {2, 4, 8, 16, 32}) {
    const auto in_turn = [&](size_t lane) { return lane % places; };
    EXPECT_EQ(passes_of_load(8, in_turn), places == 2 ? 1u : 2u) << places;
    EXPECT_EQ(passes_of_load(16, in_turn), places == 2 ? 2u : 4u) << places;
  }
}

TEST(BankPasses, PartsOfAWideStoreComeOneByOne) {
  EXPECT_EQ(passes(8, 0), 2u);
  EXPECT_EQ(passes(16, 0), 4u);
}

TEST(BankPasses, OnlyActiveLanesCount) {
  EXPECT_EQ(passes(4, 128, 1), 1u);
  EXPECT_EQ(passes(4, 128, 0xff), 8u);
  EXPECT_EQ(passes(16, 16, 0xff), 1u);
}

TEST(BankPasses, ABaseAndAStrideSayTheSameAsAddresses) {
  static const std::vector<std::byte> window(kWindowBytes);
  for (const uint32_t bytes : {1u, 4u, 8u, 16u}) {
    const auto strided = [&](size_t stride) {
      return access_times::bank_passes(
          {.active = kAllLanes, .bytes = bytes, .base = window.data(), .stride_bytes = stride},
          window.data());
    };
    EXPECT_EQ(strided(bytes), passes(bytes, bytes)) << bytes;
    EXPECT_EQ(strided(0), passes(bytes, 0)) << bytes;
  }
}

TEST(L1Cache, HoldsTheSectorsThatWereReadUntilOthersTakeTheirPlace) {
  constexpr size_t kLines = 64;
  L1Cache cache;
  EXPECT_FALSE(cache.has_size());
  cache.set_size(kLines * L1Cache::kLineBytes);
  ASSERT_TRUE(cache.has_size());
  for (uint64_t line = 0; line < kLines / 2; ++line) cache.use(line).sectors = 3;
  for (uint64_t line = 0; line < kLines / 2; ++line) EXPECT_EQ(cache.use(line).sectors, 3) << line;
  for (uint64_t line = 1000; line < 1000 + 4 * kLines; ++line) cache.use(line).sectors = 1;
  uint32_t left = 0;
  for (uint64_t line = 0; line < kLines / 2; ++line) left += cache.use(line).sectors;
  EXPECT_EQ(left, 0u) << "four times as many lines have come since";
}

TEST(L1Cache, ASetKeepsWhatWasUsedLast) {
  L1Cache cache;
  cache.set_size(1);  // one set of four lines
  for (uint64_t line = 0; line < 4; ++line) cache.use(line).sectors = 1;
  EXPECT_EQ(cache.use(0).sectors, 1);
  cache.use(9).sectors = 1;
  EXPECT_EQ(cache.use(0).sectors, 1) << "used after 1, 2 and 3";
  EXPECT_EQ(cache.use(1).sectors, 0) << "the oldest has gone";
}

}  // namespace
}  // namespace bw::sim
