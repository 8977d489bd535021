/// \file
/// The clock under tensor cores' load: what it loses, when, and that it comes back.
#include "common/simulator/clock/tensor_clock.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim::test::tensor_clock_test {
namespace {

constexpr uint32_t kSms = 132;
constexpr auto kTensor = static_cast<size_t>(Resource::tensor_cycles);
constexpr auto kCopies = static_cast<size_t>(Resource::loading_cycles);
constexpr Cycle kInterval = Demand::kInterval;

const TimingTable& times() { return times_of(*find_machine("h100")); }

/// One CTA whose tensor core is busy for these parts of its intervals.
DemandProfile cta(const std::vector<float>& busy) {
  DemandProfile profile{
      .duration = busy.size() * kInterval, .interval = kInterval, .intervals = {{}}};
  for (const float part : busy) {
    profile.intervals.front().push_back({});
    profile.intervals.front().back()[kTensor] = part * static_cast<float>(kInterval);
  }
  return profile;
}

/// Additional cycles for `intervals` intervals if that CTA is on each of `sms` SMs.
double more(const std::vector<float>& busy, uint32_t sms, size_t intervals) {
  TensorUse use;
  for (uint32_t sm = 0; sm < sms; ++sm) use.add(cta(busy), 0);
  const Cycle cycles = intervals * kInterval;
  return static_cast<double>(use.stretched(cycles, kSms, times()) - cycles);
}

std::vector<float> steady(float busy, size_t intervals) {
  return std::vector<float>(intervals, busy);
}

TEST(TensorClock, WithoutMmasCyclesStayWhatTheyAre) {
  EXPECT_EQ(more({}, kSms, 100), 0);
  EXPECT_EQ(more(steady(0, 100), kSms, 100), 0);
}

TEST(TensorClock, OneSmThatMultipliesCostsThePartOfAnyLoad) {
  constexpr size_t kIntervals = 400;
  const double expected =
      kIntervals * kInterval * times().tensor_clock_drop / (1 - times().tensor_clock_drop) +
      times().tensor_clock_dip;
  EXPECT_NEAR(more(steady(0.5F, kIntervals), 1, kIntervals), expected, 0.01 * expected);
}

TEST(TensorClock, MoreSmsAndMoreLoadCostMore) {
  EXPECT_GT(more(steady(1, 40), 66, 40), 1.1 * more(steady(1, 40), 8, 40));
  EXPECT_GT(more(steady(1, 40), 132, 40), 1.1 * more(steady(1, 40), 66, 40));
  EXPECT_GT(more(steady(1, 40), 132, 40), 1.2 * more(steady(0.5F, 40), 132, 40));
  EXPECT_GT(more(steady(0.5F, 40), 132, 40), more(steady(0.25F, 40), 132, 40));
}

TEST(TensorClock, CopiesBesideMmasCostMoreAndAloneNothing) {
  DemandProfile copying = cta(steady(1, 40));
  for (Amounts& amounts : copying.intervals.front()) amounts[kCopies] = kInterval / 2.0F;
  TensorUse beside, alone;
  for (uint32_t sm = 0; sm < kSms; ++sm) beside.add(copying, 0);
  for (Amounts& amounts : copying.intervals.front()) amounts[kTensor] = 0;
  for (uint32_t sm = 0; sm < kSms; ++sm) alone.add(copying, 0);
  const Cycle cycles = 40 * kInterval;
  EXPECT_GT(static_cast<double>(beside.stretched(cycles, kSms, times()) - cycles),
            1.05 * more(steady(1, 40), kSms, 40));
  EXPECT_EQ(alone.stretched(cycles, kSms, times()), cycles);
}

TEST(TensorClock, TheFirstMicrosecondIsTheSlowest) {
  const auto of_interval = [](size_t i) {
    const std::vector<float> busy = steady(1, 100);
    return more(busy, kSms, i + 1) - more(busy, kSms, i);
  };
  EXPECT_GT(of_interval(0), 1.2 * of_interval(2));
  EXPECT_GT(of_interval(2), 1.05 * of_interval(20));
  EXPECT_GT(of_interval(20), 1.01 * of_interval(99));
}

TEST(TensorClock, ItComesBackBehindTheLastMma) {
  const std::vector<float> busy = steady(1, 8);
  const double behind = more(busy, kSms, 8 + times().tensor_clock_hold / kInterval + 2);
  EXPECT_GT(behind, more(busy, kSms, 9));
  EXPECT_EQ(more(busy, kSms, 100), behind);
}

TEST(TensorClock, OnlyBehindARestAnMmaIsAFirstOne) {
  const auto with_pauses = [](size_t pause) {
    std::vector<float> busy;
    for (int burst = 0; burst < 8; ++burst) {
      busy.push_back(1);
      busy.insert(busy.end(), pause, 0);
    }
    busy.resize(100);
    return more(busy, kSms, 100);
  };
  // Pauses of one interval: one dip; of four: eight, and the clock stays low in both.
  EXPECT_GT(with_pauses(4), with_pauses(1) + 6 * times().tensor_clock_dip);
}

TEST(TensorClock, WhatAnIntervalHoldsTooMuchIsDoneInTheNext) {
  EXPECT_EQ(more({2, 0, 1}, kSms, 50), more({1, 1, 1}, kSms, 50));
}

TEST(TensorUse, AnAmountIsSpreadOverItsTime) {
  TensorUse whole, parts;
  whole.count_ctas(cta({1}));
  parts.count_ctas(cta({1}));
  whole.add(kInterval / 2.0, 2.5 * kInterval, {.tensor = 2.0 * kInterval, .copies = 200});
  parts.add(kInterval / 2.0, kInterval, {.tensor = kInterval / 2.0, .copies = 50});
  parts.add(kInterval, 2 * kInterval, {.tensor = kInterval, .copies = 100});
  parts.add(2 * kInterval, 2.5 * kInterval, {.tensor = kInterval / 2.0, .copies = 50});
  const Cycle cycles = 20 * kInterval;
  EXPECT_GT(whole.stretched(cycles, kSms, times()), cycles);
  EXPECT_EQ(whole.stretched(cycles, kSms, times()), parts.stretched(cycles, kSms, times()));
}

TEST(TensorUse, AmountsBelowACycleAddUp) {
  TensorUse whole, parts;
  for (TensorUse* use : {&whole, &parts})
    for (uint32_t sm = 0; sm < kSms; ++sm) use->count_ctas(cta({1}));
  whole.add(0, kInterval, {.tensor = static_cast<double>(kSms) * kInterval});
  for (uint32_t half = 0; half < 2 * kSms * kInterval; ++half)
    parts.add(0, kInterval, {.tensor = 0.5});
  const Cycle cycles = 20 * kInterval;
  EXPECT_GT(whole.stretched(cycles, kSms, times()), cycles);
  EXPECT_EQ(whole.stretched(cycles, kSms, times()), parts.stretched(cycles, kSms, times()));
}

TEST(TensorClock, AClusterSeesWhatItsLaunchSeesWhereAllDoTheSame) {
  constexpr Cycle kStart = 700;
  Demand demand;
  demand.begin(2, kStart);
  for (Cycle at = 0; at < 30 * kInterval; at += 64)
    for (uint32_t rank = 0; rank < 2; ++rank)
      demand.use(Resource::tensor_cycles, rank, kStart + at, 32);
  const Cycle cycles = 40 * kInterval;
  TensorUse use;
  for (uint32_t pair = 0; pair < kSms / 2; ++pair) use.add(demand.profile(cycles), 0);
  EXPECT_NEAR(tensor_clock_delay(demand, cycles, 1, times()),
              static_cast<double>(use.stretched(cycles, kSms, times()) - cycles), 1.5);
  Demand idle;
  idle.begin(2, kStart);
  EXPECT_EQ(tensor_clock_delay(idle, cycles, 1, times()), 0);
}

}  // namespace
}  // namespace bw::sim::test::tensor_clock_test
