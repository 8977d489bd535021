/// \file
/// What an SM fetches in a launch: lines of code by their place, and what is used first.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/simulator/clock/issue_latencies.hpp"
#include "common/simulator/clock/sm_times.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/schedule/passes.hpp"

namespace bw::sim::test::code_fetch_test {
namespace {

constexpr uint32_t kLine = CodeFetch::kLineInstructions;
constexpr CodeFetch::Rate kRate{
    .line_cycles = 20, .fetch_link_cycles = 15, .jump_cycles = 60, .ahead_lines = 6};

/// Cycle at which a lone warp has fetched `instructions` instructions from number `begin` on.
Cycle fetch(CodeFetch& code, uint32_t begin, uint32_t instructions, Cycle from) {
  CodeFetch::Stretch stretch = code.stretch(begin, instructions, from);
  while (stretch.waits()) code.fetch_line(stretch);
  return static_cast<Cycle>(stretch.at);
}

TEST(CodeFetch, LinesComeOneAfterTheOther) {
  CodeFetch code(kRate);
  EXPECT_EQ(fetch(code, 0, 4 * kLine, 0), 80u);
  // What was fetched ahead has arrived since.
  EXPECT_EQ(fetch(code, 4 * kLine, kLine, 500), 500u);
}

TEST(CodeFetch, WhatIsFetchedAheadForNothingTakesUpTheWay) {
  CodeFetch code(kRate);
  fetch(code, 0, kLine, 0);
  const Cycle lines = 1 + kRate.ahead_lines;
  EXPECT_EQ(code.link_free(0), lines * 15);
  // A jump from there waits for that, too.
  EXPECT_EQ(fetch(code, 100 * kLine, kLine, 20), lines * 15 + 60 + 20);
}

CodeFetch::Rate with_far_code() {
  CodeFetch::Rate rate = kRate;
  rate.launched_lines = 100;
  rate.launched_cycles = 5;
  rate.far_cycles = 300;
  return rate;
}

TEST(CodeFetch, CodeFarBehindTheBeginningComesLater) {
  CodeFetch near(with_far_code()), far(with_far_code());
  EXPECT_EQ(fetch(near, 96 * kLine, kLine, 0), 80u);
  EXPECT_EQ(fetch(far, 200 * kLine, kLine, 0), 320u);
}

TEST(CodeFetch, WhatComesFromFarBringsTheNextPart) {
  CodeFetch code(with_far_code());
  EXPECT_EQ(fetch(code, 400 * kLine, kLine, 0), 320u);
  EXPECT_EQ(fetch(code, 407 * kLine, kLine, 700), 700u + 60 + 20);
  // The ninth line has to be asked for.
  EXPECT_EQ(fetch(code, 408 * kLine, kLine, 800), 800u + 300 + 20);
}

TEST(CodeFetch, TheLaunchBringsCodeNearWhileTheWayIsIdle) {
  CodeFetch idle(with_far_code()), busy(with_far_code());
  EXPECT_EQ(fetch(idle, 200 * kLine, kLine, 600), 680u);
  busy.use_link(0, /*lines=*/40);  // 600 cycles
  EXPECT_EQ(fetch(busy, 200 * kLine, kLine, 600), 920u);
}

TEST(CodeFetch, WhatWasFetchedIsThere) {
  CodeFetch code(kRate);
  EXPECT_EQ(code.fetched(0), 0u);
  const Cycle first = fetch(code, 0, 4 * kLine, 0);
  EXPECT_EQ(code.fetched(0), first);
  // Another stretch in lines that the first one has brought.
  EXPECT_EQ(fetch(code, kLine, 2 * kLine, 300), 300u);
}

TEST(CodeFetch, AFarJumpWaitsANearOneDoesNot) {
  CodeFetch near(kRate), far(kRate);
  fetch(near, 0, kLine, 0);
  fetch(far, 0, kLine, 0);
  EXPECT_EQ(fetch(near, 6 * kLine, kLine, 200), 200u);
  EXPECT_EQ(fetch(far, 7 * kLine, kLine, 200), 280u);
}

TEST(CodeFetch, NearCodePaysForJumpsOnly) {
  CodeFetch::Rate near = kRate;
  near.line_cycles = near.fetch_link_cycles = 0;
  CodeFetch code(near);
  EXPECT_EQ(fetch(code, 0, 40 * kLine, 10), 10u);
  EXPECT_EQ(fetch(code, 100 * kLine, 40 * kLine, 50), 110u);
}

/// Duration of warps that begin together and take different paths of `lines` lines.
Cycle fetch_together(CodeFetch code, uint32_t warps, uint32_t lines) {
  constexpr uint32_t kApart = 1000;
  std::vector<CodeFetch::Stretch> stretches;
  for (uint32_t warp = 0; warp < warps; ++warp)
    stretches.push_back(code.stretch(warp * kApart * kLine, lines * kLine, 0));
  Cycle last = 0;
  while (!stretches.empty()) {
    const auto next = std::min_element(stretches.begin(), stretches.end(),
                                       [](const auto& a, const auto& b) { return a.at < b.at; });
    code.fetch_line(*next);
    if (next->waits()) continue;
    last = std::max(last, static_cast<Cycle>(next->at));
    stretches.erase(next);
  }
  return last;
}

TEST(CodeFetch, WaysThatGoApartShareTheWayToTheSm) {
  constexpr uint32_t kWarps = 3, kLines = 32, kAhead = kWarps * kRate.ahead_lines;
  // Alone a warp waits for its own lines; three of them want more than the way brings, which brings
  // some lines ahead as well.
  EXPECT_EQ(fetch_together(CodeFetch(kRate), 1, kLines), kLines * 20);
  const Cycle together = fetch_together(CodeFetch(kRate), kWarps, kLines);
  EXPECT_GE(together, kWarps * kLines * 15);
  EXPECT_LE(together, (kWarps * kLines + kAhead) * 15);
  // On a wide way a warp waits for its jump, and for what others fetch first of all.
  CodeFetch::Rate wide = kRate;
  wide.fetch_link_cycles = 2;
  EXPECT_LE(fetch_together(CodeFetch(wide), kWarps, kLines),
            60 + kLines * 20 + (kWarps + kAhead) * 2);
}

TEST(FirstUses, OnlyTheFirstOneFetches) {
  FirstUses uses;
  const auto use = [&](uint64_t which, Cycle now) {
    return uses.ready(which, now, [&] { return now + 70; });
  };
  EXPECT_EQ(use(7, 100), 170u);
  EXPECT_EQ(use(7, 120), 170u);
  EXPECT_EQ(use(7, 200), 200u);
  EXPECT_EQ(use(8, 200), 270u);
}

TEST(SmTimes, EachSchedulersWarpsFetchTheirOwnParametersByTheWayOfCode) {
  const TimingTable& times = times_of(*find_machine("h100"));
  SmTimes sm;
  sm.is_first = true;
  sm.code = CodeFetch({.line_cycles = 20, .fetch_link_cycles = 15});
  const Cycle alone = times.constant_line_cycles;
  const auto taken = static_cast<Cycle>(15 * times.constant_link_lines);
  EXPECT_EQ(sm.constant_line(3, /*warp=*/0, 1000, times), 1000 + alone);
  // A warp of the same scheduler has it then; one of another waits until its turn is.
  EXPECT_EQ(sm.constant_line(3, /*warp=*/4, 1000, times), 1000 + alone);
  EXPECT_EQ(sm.constant_line(3, /*warp=*/1, 1000, times), 1000 + taken + alone);
  // CTAs that begin later find all.
  sm.is_first = false;
  EXPECT_EQ(sm.constant_line(8, /*warp=*/2, 1000, times), 1000u);
}

/// Of the instruction with this opcode.
uint32_t code_begin(const ptx::Function& function, const std::vector<IssueTimes>& times,
                    const std::string& opcode) {
  for (size_t i = 0; i < times.size(); ++i)
    if (function.instructions[i].opcode == opcode) return times[i].code_begin;
  return ~0u;
}

TEST(CodeLayout, ABodyThatStandsAtTheEndLiesWhereControlComesFrom) {
  const auto module = ptx::parse(R"(
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 n)
{
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u32 %r1, [n];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra BODY;
BACK:
  bar.sync 0;
  membar.gl;
  bra.uni END;
BODY:
  bar.sync 1;
  bar.arrive 2, 64;
  bra.uni BACK;
END:
  ret;
}
)",
                                 "test.ptx");
  ptx::Function& function = *module->functions.front();
  const std::vector<IssueTimes> times =
      schedule(function, issue_latencies(times_of(*find_machine("h100"))));
  EXPECT_LT(code_begin(function, times, "bar.arrive"), code_begin(function, times, "membar.gl"));
  EXPECT_GT(code_bytes(times), 0u);
}

}  // namespace
}  // namespace bw::sim::test::code_fetch_test
