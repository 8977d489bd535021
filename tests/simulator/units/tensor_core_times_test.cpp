/// \file
/// Times of block-scaled MMAs and of copies to Tensor Memory against published measurements on a
/// B200: SemiAnalysis "microbench-blackwell" 9a068d8 (May 2026), umma_latency/fit_results.csv,
/// operands in shared memory (MXF8 and MXF4 have the same intervals, and latencies within a cycle);
/// and, for copies, cicuvc "nvidia-sass-document" 3e4430d (September 2026).
#include <gtest/gtest.h>

#include <cstdint>

#include "common/simulator/clock/tensor_core_times.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim {
namespace {

struct Published {
  int group;
  uint32_t m, n;
  double latency, interval;
};
constexpr Published kMxf8[] = {
    {1, 128, 64, 169, 48.02},  {1, 128, 80, 177, 52.02},  {1, 128, 96, 185, 56.02},
    {1, 128, 112, 193, 60.01}, {1, 128, 128, 201, 64.02}, {1, 128, 256, 265, 128.01},
    {2, 128, 64, 176, 25.02},  {2, 128, 80, 182, 27.02},  {2, 128, 96, 188, 29.02},
    {2, 128, 112, 194, 30.02}, {2, 128, 128, 200, 32.02}, {2, 128, 256, 232, 64.02},
    {2, 256, 64, 205, 43.35},  {2, 256, 80, 213, 46.02},  {2, 256, 96, 221, 49.35},
    {2, 256, 112, 229, 56.02}, {2, 256, 128, 237, 64.01}, {2, 256, 256, 301, 128.02},
};

TensorCoreCost cost_of_row(const Published& row, bool block_scaled) {
  constexpr uint32_t kRowBytes = 32;
  return cost_of({.group = row.group,
                  .m = row.m,
                  .n = row.n,
                  .a_row_bytes = kRowBytes,
                  .b_row_bytes = kRowBytes,
                  .block_scaled = block_scaled});
}

TEST(TensorCoreTimes, BlockScaledMmasTakeThePublishedTimes) {
  for (const Published& row : kMxf8) {
    // Narrow MMAs of pairs deviate from the laws, dense ones in the same way.
    const bool narrow_pair = row.group == 2 && row.n < 128;
    const TensorCoreCost cost = cost_of_row(row, true);
    EXPECT_NEAR(static_cast<double>(cost.latency), row.latency, narrow_pair && row.m == 128 ? 8 : 1)
        << row.group << ' ' << row.m << ' ' << row.n;
    EXPECT_NEAR(static_cast<double>(cost.interval), row.interval, narrow_pair ? 4.1 : 0.1)
        << row.group << ' ' << row.m << ' ' << row.n;
  }
}

TEST(TensorCoreTimes, ADenseMmaIsFasterByAsMuchAsWasPublished) {
  for (const Published& row : kMxf8) {
    const TensorCoreCost scaled = cost_of_row(row, true), dense = cost_of_row(row, false);
    EXPECT_EQ(scaled.latency - dense.latency, row.group == 1 ? 1 : 3);
    EXPECT_EQ(scaled.interval, dense.interval);
  }
}

TEST(TensorCoreTimes, CopiesTakeThePublishedTimes) {
  // 2,048 more copies of .32x128b.warpx4 took 33,388 - 17,012 more cycles; 8,192 of
  // .64x128b.warpx2.
  EXPECT_NEAR(static_cast<double>(cost_of_copy(512).interval), (33388 - 17012) / 2048.0, 0.1);
  EXPECT_NEAR(static_cast<double>(cost_of_copy(1024).interval), 137367 / 8192.0, 0.5);
  EXPECT_EQ(cost_of_copy(4096).interval, 74);  // .128x256b
}

// Meta's numbers for a B200, of which the table of times gives the source.
TEST(TensorMemoryTimes, AreThePublishedOnes) {
  const TimingTable& b200 = times_of(*find_machine("b200"));
  const auto latency = [&](uint32_t columns, bool is_load) {
    return static_cast<double>(TensorMemoryTimes(&b200).transfer(0, columns, is_load, 0).latency);
  };
  EXPECT_EQ(latency(64, true), 179);
  EXPECT_EQ(latency(128, true), 532);
  EXPECT_NEAR(latency(96, true), (179 + 532) / 2.0, 1) << "assumed to be linear";
  EXPECT_NEAR(latency(32, true), 179 / 2.0, 1);
  EXPECT_NEAR(latency(64, false), 64, 4);
  EXPECT_NEAR(latency(128, false), 96, 4);
}

TEST(TensorMemoryTimes, WarpsOfOneQuarterWaitForEachOther) {
  const TimingTable& b200 = times_of(*find_machine("b200"));
  TensorMemoryTimes times(&b200);
  const Cycle moving = 64 / b200.tmem_columns_per_cycle;
  EXPECT_EQ(times.transfer(1, 64, true, 100).begin, 100);
  EXPECT_EQ(times.transfer(2, 64, true, 100).begin, 100);
  EXPECT_EQ(times.transfer(5, 64, false, 100).begin, 100 + moving);
  EXPECT_EQ(times.transfer(1, 1, true, 100).begin, 100 + 2 * moving);
  EXPECT_EQ(times.transfer(9, 1, true, 100).begin, 101 + 2 * moving) << "a part of a cycle is one";
}

}  // namespace
}  // namespace bw::sim
