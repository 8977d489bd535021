/// \file
/// What an SM fetches in a launch: lines of code by their place, and what is used first.

#include <gtest/gtest.h>

#include <string>

#include "common/simulator/machine/machine_description.hpp"
#include "common/simulator/machine/timing/code_layout.hpp"
#include "common/simulator/machine/timing/sm_times.hpp"
#include "common/simulator/machine/timing/timing_table.hpp"

namespace bw::sim::test {
namespace {

constexpr uint32_t kLine = CodeFetch::kLineInstructions;
constexpr CodeFetch::Rate kRate{.line_cycles = 20, .jump_cycles = 60, .ahead_lines = 6};

TEST(CodeFetch, LinesComeOneAfterTheOther) {
  CodeFetch code;
  EXPECT_EQ(code.fetched(0, 4 * kLine, 0, kRate), 80u);
  EXPECT_EQ(code.fetched(4 * kLine, kLine, 500, kRate), 520u);
}

TEST(CodeFetch, WhatWasFetchedIsThere) {
  CodeFetch code;
  const Cycle first = code.fetched(0, 4 * kLine, 0, kRate);
  EXPECT_EQ(code.fetched(0, 4 * kLine, 300, kRate), first);
  // Another stretch in lines that the first one has brought.
  EXPECT_EQ(code.fetched(kLine, 2 * kLine, 300, kRate), 300u);
}

TEST(CodeFetch, AFarJumpWaitsANearOneDoesNot) {
  CodeFetch near, far;
  near.fetched(0, kLine, 0, kRate);
  far.fetched(0, kLine, 0, kRate);
  EXPECT_EQ(near.fetched(6 * kLine, kLine, 100, kRate), 120u);
  EXPECT_EQ(far.fetched(7 * kLine, kLine, 100, kRate), 180u);
}

TEST(CodeFetch, NearCodePaysForJumpsOnly) {
  CodeFetch code;
  CodeFetch::Rate near = kRate;
  near.line_cycles = 0;
  EXPECT_EQ(code.fetched(0, 40 * kLine, 10, near), 10u);
  EXPECT_EQ(code.fetched(100 * kLine, 40 * kLine, 50, near), 110u);
}

TEST(FirstUses, OnlyTheFirstOneFetches) {
  FirstUses uses;
  EXPECT_EQ(uses.ready(7, 100, 70), 170u);
  EXPECT_EQ(uses.ready(7, 120, 70), 170u);
  EXPECT_EQ(uses.ready(7, 200, 70), 200u);
  EXPECT_EQ(uses.ready(8, 200, 70), 270u);
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
  const std::vector<IssueTimes> times = schedule(function, times_of(*find_machine("h100")));
  EXPECT_LT(code_begin(function, times, "bar.arrive"), code_begin(function, times, "membar.gl"));
  EXPECT_GT(code_bytes(times), 0u);
}

}  // namespace
}  // namespace bw::sim::test
