/// \file
/// Division by multiplication, and the raster that uses it.
#include "solutions/06_hopper_fp8_gemm/fast_raster.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "common/device/fast_divisor.cuh"

namespace bw {
namespace {

constexpr uint32_t kLimit = uint32_t{1} << 31;

/// Numbers around the multiples of `divisor` at which a quotient that is off by a little shows.
std::vector<uint32_t> dividends(uint32_t divisor) {
  std::vector<uint32_t> numbers = {0, 1, 2, kLimit - 2, kLimit - 1};
  const uint32_t last = (kLimit - 1) / divisor;
  for (const uint32_t quotient : {uint32_t{1}, uint32_t{2}, last / 2, last - 1, last}) {
    const uint64_t multiple = uint64_t{quotient} * divisor;
    for (const int64_t n : {int64_t(multiple) - 1, int64_t(multiple), int64_t(multiple) + 1}) {
      if (n >= 0 && n < int64_t{kLimit}) numbers.push_back(static_cast<uint32_t>(n));
    }
  }
  return numbers;
}

void expect_quotients(uint32_t divisor, const std::vector<uint32_t>& numbers) {
  const FastDivisor fast(divisor);
  EXPECT_EQ(fast.divisor(), divisor);
  for (const uint32_t n : numbers)
    ASSERT_EQ(fast.quotient(n), n / divisor) << n << " / " << divisor;
}

TEST(FastDivisor, DividesByEverySmallNumber) {
  for (uint32_t divisor = 1; divisor <= 20000; ++divisor) {
    expect_quotients(divisor, dividends(divisor));
  }
}

TEST(FastDivisor, DividesByTheLargestNumbersAndAroundPowersOfTwo) {
  for (int shift = 2; shift <= 31; ++shift) {
    const uint32_t power = uint32_t{1} << shift;
    expect_quotients(power - 1, dividends(power - 1));
    expect_quotients(power, dividends(power));
    if (shift < 31) expect_quotients(power + 1, dividends(power + 1));
  }
}

TEST(FastDivisor, DividesRandomNumbers) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint32_t divisor = 1 + random() % kLimit;
    expect_quotients(divisor, {static_cast<uint32_t>(random() % kLimit)});
    const uint32_t small = 1 + divisor % 5000;
    expect_quotients(small, {static_cast<uint32_t>(random() % kLimit)});
  }
}

TEST(FastRaster, GivesThePlacesOfTheRaster) {
  std::vector<TileRaster> rasters = {{64, 1000}, {9, 4096}, {1, 100000}};
  for (uint32_t m = 1; m <= 34; ++m) {
    for (uint32_t n = 1; n <= 40; ++n) rasters.push_back({m, n});
  }
  for (const TileRaster& raster : rasters) {
    const hopper::FastRaster fast(raster);
    ASSERT_EQ(fast.size(), raster.size());
    for (uint32_t index = 0; index < raster.size(); ++index) {
      const WorkTile expected = raster.tile(index), found = fast.tile(index);
      ASSERT_TRUE(found.m == expected.m && found.n == expected.n && found.valid == expected.valid)
          << raster.m << " x " << raster.n << ", piece " << index << ": (" << found.m << ", "
          << found.n << ") instead of (" << expected.m << ", " << expected.n << ")";
    }
  }
}

TEST(FastRaster, GivesThePlacesOfALargeRaster) {
  // Close to 2^31 pieces, the most that the host lets through; along N 2^26, as many as there are
  // of 64 columns in a matrix that TMA can address.
  for (const TileRaster& raster : {TileRaster{46340, 46340}, TileRaster{31, 1 << 26},
                                   TileRaster{2147483647, 1}, TileRaster{16777215, 127}}) {
    const hopper::FastRaster fast(raster);
    std::mt19937 random(2);
    for (int i = 0; i < 100000; ++i) {
      const uint32_t index = i < 100 ? raster.size() - 1 - i : random() % raster.size();
      const WorkTile expected = raster.tile(index), found = fast.tile(index);
      ASSERT_TRUE(found.m == expected.m && found.n == expected.n)
          << raster.m << " x " << raster.n << ", piece " << index;
    }
  }
}

}  // namespace
}  // namespace bw
