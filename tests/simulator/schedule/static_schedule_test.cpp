/// \file
/// The order and the distances of issue, of small functions whose schedule was found by hand from
/// the rules: one instruction a cycle, a pipe's interval, a result's latency.
#include "common/simulator/schedule/static_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/simulator/clock/issue_latencies.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::test::static_schedule_test {
namespace {

/// Round numbers, so that what is expected can be read.
TimingTable simple_times() {
  TimingTable times = times_of(*find_machine("h100"));
  times.planned_shared_latency = 20;
  times.l2_load_latency = 200;
  times.alu_latency = 4;
  times.alu_interval = 2;
  times.fma_latency = 4;
  times.fma_interval = 1;
  times.multiply_latency = 4;
  times.multiply_interval = 2;
  times.special_latency = 16;
  times.special_interval = 8;
  times.exchange_latency = 24;
  times.load_store_interval = 4;
  times.other_pipe_cycles = 1;
  times.branch_predicate_cycles = 13;
  times.branch_taken_cycles = 10;
  times.branch_passed_cycles = 5;
  return times;
}

struct Scheduled {
  std::unique_ptr<ptx::Module> module;
  std::vector<IssueTimes> times;

  [[nodiscard]] const ptx::Function& function() const { return *module->functions.front(); }
  [[nodiscard]] std::vector<std::string> opcodes() const {
    std::vector<std::string> result;
    for (const ptx::Instruction& i : function().instructions) result.push_back(i.opcode);
    return result;
  }
  /// The PTX lines of the instructions, counted from the first one's.
  [[nodiscard]] std::vector<uint32_t> lines() const {
    std::vector<uint32_t> result;
    uint32_t first = ~0u;
    for (const ptx::Instruction& i : function().instructions) first = std::min(first, i.line);
    for (const ptx::Instruction& i : function().instructions) result.push_back(i.line - first);
    return result;
  }
  [[nodiscard]] std::vector<uint32_t> cycles() const {
    std::vector<uint32_t> result;
    for (const IssueTimes& t : times) result.push_back(t.cycles);
    return result;
  }
  [[nodiscard]] std::vector<uint32_t> slots() const {
    std::vector<uint32_t> result;
    for (const IssueTimes& t : times) result.push_back(t.issue_slots);
    return result;
  }
  [[nodiscard]] std::vector<uint32_t> awaits() const {
    std::vector<uint32_t> result;
    for (const IssueTimes& t : times) result.push_back(t.awaits);
    return result;
  }
};

Scheduled schedule_of(const std::string& body, const TimingTable& times = simple_times()) {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) {\n"
      ".reg .f32 %f<50>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n.reg .pred %p<9>;\n" +
      body + "}\n";
  Scheduled result;
  result.module = ptx::parse(text, "test");
  result.times = schedule(*result.module->functions.front(), issue_latencies(times));
  return result;
}

using Numbers = std::vector<uint32_t>;

TEST(StaticSchedule, ResultsOfArithmeticAreWaitedFor) {
  const Scheduled s = schedule_of(
      "fma.rn.f32 %f1, %f0, %f0, %f0;\n"
      "fma.rn.f32 %f2, %f1, %f1, %f1;\n"
      "fma.rn.f32 %f3, %f2, %f2, %f2;\n"
      "ret;\n");
  EXPECT_EQ(s.cycles(), (Numbers{4, 4, 1, 10}));
  EXPECT_EQ(s.slots(), (Numbers{0, 0, 0, 4}));
}

TEST(StaticSchedule, IndependentChainsFillEachOthersLatency) {
  // Two chains of two: issued 0, 1, 4, 5 whatever the text says.
  const Scheduled s = schedule_of(
      "fma.rn.f32 %f1, %f0, %f0, %f0;\n"
      "fma.rn.f32 %f2, %f1, %f1, %f1;\n"
      "fma.rn.f32 %f3, %f10, %f10, %f10;\n"
      "fma.rn.f32 %f4, %f3, %f3, %f3;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 2, 1, 3, 4}));
  EXPECT_EQ(s.cycles(), (Numbers{1, 3, 1, 1, 10}));
}

TEST(StaticSchedule, APipeTakesItsInterval) {
  const Scheduled s = schedule_of(
      "xor.b32 %r1, %r0, %r10;\n"
      "shr.u32 %r2, %r0, 3;\n"
      "mad.lo.u32 %r3, %r0, %r0, %r10;\n"
      "ret;\n");
  // The multiplication fits between the two of the alu.
  EXPECT_EQ(s.lines(), (Numbers{0, 2, 1, 3}));
  EXPECT_EQ(s.cycles(), (Numbers{1, 1, 1, 10}));
  EXPECT_EQ(s.slots(), (Numbers{0, 0, 0, 4}));
}

TEST(StaticSchedule, AnotherPipesResultComesLater) {
  const Scheduled s = schedule_of(
      "xor.b32 %r1, %r0, %r10;\n"
      "mad.lo.u32 %r2, %r1, %r1, %r1;\n"
      "mad.lo.u32 %r3, %r2, %r2, %r2;\n"
      "ret;\n");
  EXPECT_EQ(s.cycles(), (Numbers{5, 4, 1, 10}));
}

TEST(StaticSchedule, LoadsComeFirstAndTheirFirstUseAwaitsThem) {
  const Scheduled s = schedule_of(
      "ld.shared.f32 %f1, [%r0];\n"
      "add.f32 %f2, %f1, %f0;\n"
      "ld.global.f32 %f3, [%rd0];\n"
      "add.f32 %f4, %f3, %f2;\n"
      "st.global.f32 [%rd1], %f4;\n"
      "ret;\n");
  EXPECT_EQ(s.opcodes(), (std::vector<std::string>{"ld.global.f32", "ld.shared.f32", "add.f32",
                                                   "add.f32", "st.global.f32", "ret"}));
  EXPECT_EQ(s.awaits(), (Numbers{0, 0, 0b10, 0b01, 0, 0}));
  // The second load four cycles after the first; a load's latency is not in the distances.
  EXPECT_EQ(s.cycles(), (Numbers{4, 1, 4, 4, 1, 10}));
  EXPECT_EQ(s.slots().back(), 6);
}

TEST(StaticSchedule, AStoreIsPassedOnlyByAccessesOfOtherPlaces) {
  // Each load would be the first: what is loaded is used in the end.
  const auto place_of_load = [](const std::string& load) {
    const Scheduled s =
        schedule_of("st.shared.f32 [%r0], %f0;\n" + load + "add.f32 %f2, %f1, %f1;\nret;\n");
    const std::vector<uint32_t> lines = s.lines();
    return std::find(lines.begin(), lines.end(), 1) - lines.begin();
  };
  EXPECT_EQ(place_of_load("ld.global.f32 %f1, [%rd0];\n"), 0) << "another space";
  EXPECT_EQ(place_of_load("ld.shared.f32 %f1, [%r0+4];\n"), 0) << "the word behind it";
  EXPECT_EQ(place_of_load("ld.shared.f32 %f1, [%r1];\n"), 1) << "may be the same word";
  EXPECT_EQ(place_of_load("ld.shared.v2.f32 {%f1, %f3}, [%r0+-4];\n"), 1) << "reaches into it";
  EXPECT_EQ(place_of_load("ld.f32 %f1, [%rd0];\n"), 1) << "a generic address";
}

TEST(StaticSchedule, LanesThatMeetOrderMemory) {
  const auto lines = [](const std::string& between) {
    return schedule_of("st.shared.f32 [%r0], %f0;\n" + between +
                       "ld.shared.f32 %f1, [%r1+4];\nadd.f32 %f2, %f1, %f1;\nret;\n")
        .lines();
  };
  EXPECT_EQ(lines("vote.sync.any.pred %p1, %p2, 0xffffffff;\n"), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(lines("shfl.sync.bfly.b32 %r2, %r3, 1, 31, 0xffffffff;\n"), (Numbers{0, 1, 2, 3, 4}));
}

TEST(StaticSchedule, LoadsGoAheadAsFarAsRegistersReach) {
  // Twelve copies of four registers each: all the loads at once would take 48.
  std::string body;
  for (int i = 0; i < 12; ++i) {
    const std::string registers = "{%f" + std::to_string(4 * i) + ", %f" +
                                  std::to_string(4 * i + 1) + ", %f" + std::to_string(4 * i + 2) +
                                  ", %f" + std::to_string(4 * i + 3) + "}";
    const std::string offset = std::to_string(16 * i);
    body += "ld.global.v4.f32 " + registers + ", [%rd0+" + offset + "];\n";
    body += "st.shared.v4.f32 [%r0+" + offset + "], " + registers + ";\n";
  }
  const Scheduled s = schedule_of(body + "ret;\n");
  int in_flight = 0, most = 0;
  for (const std::string& opcode : s.opcodes()) {
    if (opcode.starts_with("ld")) most = std::max(most, ++in_flight);
    if (opcode.starts_with("st")) --in_flight;
  }
  EXPECT_EQ(most, (32 - 1) / 4) << "one is the stack's";
}

TEST(StaticSchedule, NothingPassesABarrierOrAWait) {
  const Scheduled s = schedule_of(
      "add.f32 %f1, %f0, %f0;\n"
      "st.shared.f32 [%r0], %f1;\n"
      "bar.sync 0;\n"
      "ld.shared.f32 %f2, [%r1];\n"
      "add.f32 %f3, %f2, %f2;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(s.slots(), (Numbers{0, 2, 1, 0, 0, 3}));
}

TEST(StaticSchedule, ArithmeticPassesWhatWaitsForMmas) {
  // The counter of a loop is known before the MMAs are waited for; their sums are not.
  const Scheduled s = schedule_of(
      "wgmma.wait_group.sync.aligned 0;\n"
      "add.s32 %r1, %r1, 1;\n"
      "setp.lt.s32 %p1, %r1, 9;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{1, 2, 0, 3}));
}

TEST(StaticSchedule, SumsOfMmasStayBehindTheirWait) {
  const Scheduled s = schedule_of(
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%f0, %f1, %f2, %f3}, %rd0, %rd1, 1, 1, "
      "1;\n"
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      "add.f32 %f4, %f4, %f0;\n"
      "add.f32 %f5, %f5, %f1;\n"
      "add.f32 %f6, %f7, %f7;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 5, 2, 3, 4, 6}));
}

TEST(StaticSchedule, AccessesDoNotPassWhatWaitsForMmas) {
  const Scheduled s = schedule_of(
      "st.shared.f32 [%r0], %f1;\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      "ld.shared.f32 %f2, [%r1];\n"
      "ld.global.nc.f32 %f3, [%rd1];\n"
      "ret;\n");
  EXPECT_EQ(s.lines()[0], 0u);
  EXPECT_EQ(s.lines()[1], 1u);
}

TEST(StaticSchedule, WhatMemoryBringsIsNotNeededBeforeAWaitThatComesFirst) {
  const Scheduled s = schedule_of(
      "ld.global.f32 %f2, [%rd1];\n"
      "ld.shared.f32 %f3, [%r1];\n"
      "wgmma.wait_group.sync.aligned 0;\n"
      "add.f32 %f4, %f2, %f2;\n"
      "add.f32 %f5, %f3, %f3;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 4, 2, 3, 5}));
}

TEST(StaticSchedule, TheAnswerOfATestIsAwaitedWhereItIsUsed) {
  const Scheduled s = schedule_of(
      "mbarrier.test_wait.shared.b64 %p1, [%r3], %rd1;\n"
      "add.f32 %f1, %f0, %f0;\n"
      "selp.b32 %r1, 5, 6, %p1;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(s.awaits(), (Numbers{0, 0, 1, 0}));
}

TEST(StaticSchedule, AWarpYieldsBetweenSumsOfMmas) {
  const std::string mma =
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%f0, %f1, %f2, %f3}, %rd0, %rd1, 1, 1, "
      "1;\nwgmma.wait_group.sync.aligned 0;\n";
  const auto cycles_of = [&](const std::string& sums) {
    const Scheduled s = schedule_of(mma + sums + "ret;\n");
    const Numbers cycles = s.cycles();
    uint32_t sum = 0;
    for (size_t i = 2; i + 1 < cycles.size(); ++i) sum += cycles[i];
    return sum;
  };
  EXPECT_EQ(cycles_of("fma.rn.f32 %f10, %f0, %f20, %f10;\nfma.rn.f32 %f11, %f1, %f20, %f11;\n"
                      "fma.rn.f32 %f12, %f2, %f20, %f12;\nfma.rn.f32 %f13, %f3, %f20, %f13;\n"),
            4u + 2u);
}

TEST(StaticSchedule, AHalfThatIsCombinedWithZerosCostsNothing) {
  const auto slots_of = [](const std::string& instruction) {
    return schedule_of(instruction + "ret;\n").slots().back();
  };
  EXPECT_EQ(slots_of("or.b64 %rd1, %rd2, 4611686293305294848;\n"), 2u);
  EXPECT_EQ(slots_of("or.b64 %rd1, %rd2, 7;\n"), 2u);
  EXPECT_GT(slots_of("or.b64 %rd1, %rd2, 4611686293305294849;\n"), 2u);
  EXPECT_GT(slots_of("or.b64 %rd1, %rd2, %rd3;\n"), 2u);
}

TEST(StaticSchedule, ASignIsPartOfTheOneInstructionThatReadsIt) {
  const auto slots_of = [](const std::string& readers) {
    return schedule_of("neg.f32 %f1, %f0;\n" + readers + "ret;\n").slots().back();
  };
  EXPECT_EQ(slots_of("add.f32 %f2, %f1, %f3;\n"), 2u);
  EXPECT_EQ(slots_of("add.f32 %f2, %f1, %f3;\nadd.f32 %f4, %f1, %f5;\n"), 4u);
}

TEST(StaticSchedule, ANumberIsComparedWhenTheCodeIsMade) {
  const auto slots_of = [](const std::string& source) {
    return schedule_of(source + "setp.ne.b32 %p1, %r1, 0;\nret;\n").slots().back();
  };
  EXPECT_EQ(slots_of("mov.u32 %r1, 1;\n"), 1u);
  EXPECT_EQ(slots_of("mov.u32 %r1, %r2;\n"), 2u);
}

TEST(StaticSchedule, WhatAnInstructionReadsIsNotOverwrittenBefore) {
  // %r1 is written again after its reader, and the guarded move keeps some lanes' old value.
  const Scheduled s = schedule_of(
      "ld.global.u32 %r1, [%rd0];\n"
      "xor.b32 %r2, %r1, %r9;\n"
      "mov.u32 %r1, 7;\n"
      "@%p0 mov.u32 %r1, 8;\n"
      "xor.b32 %r3, %r1, %r8;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(StaticSchedule, ADestinationMayBeNamedTwice) {
  const Scheduled s = schedule_of(
      "ld.shared.v2.f32 {%f1, %f1}, [%r0];\n"
      "add.f32 %f2, %f1, %f0;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 2}));
}

TEST(StaticSchedule, WhatPtxasRemovesCostsNothing) {
  const Scheduled s = schedule_of(
      "ld.param.u64 %rd1, [p];\n"
      "cvta.to.global.u64 %rd2, %rd1;\n"
      "mov.u32 %r1, %r0;\n"
      "mul.wide.s32 %rd3, %r1, 4;\n"
      "add.s64 %rd4, %rd2, %rd3;\n"
      "ld.global.f32 %f1, [%rd4];\n"
      "ret;\n");
  // One IMAD.WIDE, whose address the load waits for, and the load.
  EXPECT_EQ(s.slots().back(), 3);
  uint32_t total = 0;
  for (const uint32_t cycles : s.cycles()) total += cycles;
  EXPECT_EQ(total, 5 + 1 + 10);
}

TEST(StaticSchedule, AComparisonDecidesABranchLate) {
  const Scheduled s = schedule_of(
      "loop:\n"
      "add.s32 %r1, %r1, 1;\n"
      "setp.ne.s32 %p1, %r1, 64;\n"
      "@%p1 bra loop;\n"
      "ret;\n");
  EXPECT_EQ(s.cycles(), (Numbers{5, 13, 10, 10}));
  EXPECT_EQ(s.times[2].skip_cycles, 5);
}

TEST(StaticSchedule, ALoopsOwnResultIsWaitedForAtItsBeginning) {
  const Scheduled s = schedule_of(
      "loop:\n"
      "ex2.approx.ftz.f32 %f1, %f1;\n"
      "@%p1 bra loop;\n"
      "ret;\n");
  // Issued at 0, the branch at 1, its target at 11: the value is there at 16.
  EXPECT_EQ(s.cycles(), (Numbers{1 + 5, 10, 10}));
}

TEST(StaticSchedule, AShortBodyIsPredicated) {
  const Scheduled s = schedule_of(
      "setp.ne.s32 %p1, %r1, 0;\n"
      "@%p1 bra behind;\n"
      "add.f32 %f1, %f1, %f2;\n"
      "st.shared.f32 [%r2], %f1;\n"
      "behind:\n"
      "bar.sync 0;\n"
      "ret;\n");
  EXPECT_EQ(s.times[1].skip_cycles, 0);
  EXPECT_EQ(s.times[1].cycles, 2) << "the body's two instructions, which do nothing";
}

TEST(StaticSchedule, ManyMmasOfAWarpAreBookedInParts) {
  std::string mmas;
  for (int i = 0; i < 24; ++i) {
    mmas += "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r" + std::to_string(i) +
            ", %r30}, {%r31, %r32, %r33, %r34}, {%r35, %r36}, {%r37, %r38};\n";
  }
  TimingTable times = simple_times();
  times.mma_interval = 6;
  // Eleven take 66 slots, and the return's is the last one's.
  std::vector<uint32_t> parts;
  for (const uint32_t slots : schedule_of(mmas + "ret;\n", times).slots())
    if (slots != 0) parts.push_back(slots);
  EXPECT_EQ(parts, (Numbers{66, 66, 12}));
}

TEST(StaticSchedule, SixScoreboardsCountLoads) {
  // Eight loads before the first sum: the last three share a scoreboard, so that the first sum of
  // them awaits all three, and the others nothing. Then the scoreboards are free again.
  std::string text;
  for (int i = 1; i <= 8; ++i)
    text += "ld.shared.f32 %f" + std::to_string(i) + ", [%r0+" + std::to_string(128 * i) + "];\n";
  for (int i = 1; i <= 8; ++i) text += "add.f32 %f0, %f0, %f" + std::to_string(i) + ";\n";
  text += "bar.sync 0;\nld.shared.f32 %f1, [%r0];\nadd.f32 %f0, %f0, %f1;\nret;\n";
  TimingTable times = simple_times();
  times.planned_shared_latency = 40;
  const Scheduled s = schedule_of(text, times);
  Numbers scoreboards;
  for (size_t i = 0; i < s.times.size(); ++i)
    if (s.opcodes()[i] == "ld.shared.f32") scoreboards.push_back(s.times[i].scoreboard);
  EXPECT_EQ(scoreboards, (Numbers{0, 1, 2, 3, 4, 5, 5, 5, 0}));
  EXPECT_EQ(s.awaits(), (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 0, 0, 0, 0, 1, 0}));
}

TEST(StaticSchedule, WhoElectsALaneSparesTheCopyALoop) {
  const auto cycles_of_copies = [](const std::string& choice, uint32_t count) {
    TimingTable times = simple_times();
    times.tma_operand_cycles = 30;
    times.tma_prepare_cycles = 52;
    std::string text = choice + "@%p1 bra behind;\n";
    for (uint32_t i = 0; i < count; ++i)
      text +=
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, "
          "[%r2];\n";
    const Scheduled s = schedule_of(text + "behind:\nret;\n", times);
    const std::vector<std::string> opcodes = s.opcodes();
    uint32_t cycles = 0;
    for (size_t i = 0; i < opcodes.size(); ++i)
      if (opcodes[i].starts_with("cp.async.bulk")) cycles += s.times[i].cycles;
    return cycles;
  };
  const std::string first = "mov.u32 %r3, %tid.x;\nsetp.ne.s32 %p1, %r3, 0;\n";
  const std::string elect = "elect.sync _|%p2, -1;\nselp.b32 %r3, 1, 0, %p2;\n";
  const std::string elected = elect + "setp.eq.s32 %p1, %r3, 0;\n";
  EXPECT_EQ(cycles_of_copies(first, 1), 30u + 1 + 22);
  EXPECT_EQ(cycles_of_copies(first, 3), 3 * (30u + 1 + 22));
  EXPECT_EQ(cycles_of_copies(elected, 1), 30u + 1);
  // Only the first waits; the pipe takes one in four cycles.
  EXPECT_EQ(cycles_of_copies(elected, 3), 30u + 2 * 4 + 1);
  EXPECT_EQ(cycles_of_copies(elect + "setp.ne.s32 %p1, %r3, 0;\n", 1), 30u + 1 + 22)
      << "all but the elected lane";
}

TEST(StaticSchedule, WhatPlacesAnElectedLanesCopiesIsNoReasonForABranch) {
  // Cost of the branch where it is not taken: nothing if the machine code has none.
  const auto branch_costs = [](const std::string& choice, int arithmetic, int copies) {
    std::string text = choice + "@%p1 bra behind;\n";
    for (int i = 0; i < arithmetic; ++i) text += "xor.b32 %r1, %r1, %r2;\n";
    for (int i = 0; i < copies; ++i)
      text +=
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, "
          "[%r2];\n";
    const Scheduled s = schedule_of(text + "behind:\nret;\n");
    const std::vector<std::string> opcodes = s.opcodes();
    for (size_t i = 0; i < opcodes.size(); ++i)
      if (opcodes[i] == "bra") return s.times[i].skip_cycles != 0;
    ADD_FAILURE() << "no branch";
    return false;
  };
  const std::string first = "mov.u32 %r3, %tid.x;\nsetp.ne.s32 %p1, %r3, 0;\n";
  const std::string elected =
      "elect.sync _|%p2, -1;\nselp.b32 %r3, 1, 0, %p2;\nsetp.eq.s32 %p1, %r3, 0;\n";
  EXPECT_FALSE(branch_costs(elected, 20, 3));
  EXPECT_TRUE(branch_costs(elected, 0, 8)) << "too many copies";
  EXPECT_TRUE(branch_costs(elected, 20, 0)) << "no copy";
  EXPECT_TRUE(branch_costs(first, 20, 3)) << "nobody elected";
}

/// Four loads of neighbours, with `between` after the second; how many each loads for, in the
/// order of the text.
Numbers merged(const std::string& address, const std::string& between) {
  std::string text = address;
  for (int i = 1; i <= 4; ++i) {
    text += "ld.shared.f32 %f" + std::to_string(i) + ", [%r1+" + std::to_string(4 * i - 4) + "];\n";
    if (i == 2) text += between;
  }
  for (int i = 1; i <= 4; ++i) text += "add.f32 %f0, %f0, %f" + std::to_string(i) + ";\n";
  const Scheduled s = schedule_of(text + "ret;\n");
  std::vector<std::pair<uint32_t, uint32_t>> by_line;
  for (size_t i = 0; i < s.times.size(); ++i)
    if (s.opcodes()[i] == "ld.shared.f32") by_line.push_back({s.lines()[i], s.times[i].merged});
  std::sort(by_line.begin(), by_line.end());
  Numbers result;
  for (const auto& [line, count] : by_line) result.push_back(count);
  return result;
}

TEST(StaticSchedule, NeighboursInSharedMemoryAreOneLoad) {
  EXPECT_EQ(merged("shl.b32 %r1, %r0, 4;\n", ""), (Numbers{4, 0, 0, 0}));
  EXPECT_EQ(merged("mul.lo.u32 %r1, %r0, 24;\n", ""), (Numbers{2, 0, 2, 0}));
  EXPECT_EQ(merged("shl.b32 %r1, %r0, 2;\n", ""), (Numbers{1, 1, 1, 1}));
  EXPECT_EQ(merged("shl.b32 %r1, %r0, 4;\n", "st.shared.f32 [%r2], %f9;\n"), (Numbers{2, 0, 2, 0}));
  EXPECT_EQ(merged("shl.b32 %r1, %r0, 4;\n", "add.u32 %r1, %r1, 16;\n"), (Numbers{2, 0, 2, 0}));
  EXPECT_EQ(merged("shl.b32 %r1, %r0, 4;\n", "bar.sync 0;\n"), (Numbers{2, 0, 2, 0}));
}

TEST(StaticSchedule, AnInstructionHasThreeOperands) {
  // a ^ b ^ c ^ d: two LOP3, which the alu takes every second cycle; and two IADD3 for four terms.
  const Scheduled bits = schedule_of(
      "xor.b32 %r1, %r10, %r11;\nxor.b32 %r2, %r1, %r12;\nxor.b32 %r3, %r2, %r13;\nret;\n");
  EXPECT_EQ(bits.slots(), (Numbers{0, 0, 0, 4}));
  EXPECT_EQ(bits.cycles(), (Numbers{0, 4, 1, 10}));
  const Scheduled sums = schedule_of(
      "add.u32 %r1, %r10, %r11;\nadd.u32 %r2, %r1, %r12;\nadd.u32 %r3, %r2, %r13;\nret;\n");
  EXPECT_EQ(sums.slots(), (Numbers{0, 0, 0, 3}));
}

TEST(StaticSchedule, AddressesInSharedMemoryAreComputedAgainInOuterLoops) {
  const auto slots_of_sum = [](const std::string& inside) {
    const Scheduled s = schedule_of(
        ".shared .b32 words[4];\n"
        "outer:\n"
        "mov.u32 %r1, words;\n"
        "add.u32 %r2, %r2, %r1;\n"
        "bar.sync 0;\n" +
        inside + "@%p1 bra outer;\nret;\n");
    return s.times[0].cycles;
  };
  EXPECT_EQ(slots_of_sum(""), 0);
  EXPECT_EQ(slots_of_sum("inner:\n@%p2 bra inner;\n"), 24 + 4 + 1);
  EXPECT_EQ(
      slots_of_sum("inner:\nmbarrier.test_wait.shared.b64 %p2, [%r3], %rd1;\n@%p2 bra inner;\n"), 0)
      << "a loop that waits is not one";
}

TEST(StaticSchedule, ALoadedValueIsAwaitedInALaterBlock) {
  const Scheduled s = schedule_of(
      "ld.shared.f32 %f1, [%r0];\n"
      "bar.sync 0;\n"
      "loop:\n"
      "add.f32 %f2, %f2, %f1;\n"
      "bar.sync 0;\n"
      "@%p1 bra loop;\n"
      "ret;\n");
  EXPECT_EQ(s.awaits(), (Numbers{0, 0, 0b01, 0, 0, 0}));
}

TEST(StaticSchedule, AVectorMayNameARegisterTwice) {
  const Scheduled s = schedule_of(
      "ld.shared.v2.f32 {%f1, %f1}, [%r0];\n"
      "add.f32 %f2, %f1, %f1;\n"
      "ret;\n");
  EXPECT_EQ(s.lines(), (Numbers{0, 1, 2}));
}

/// A load may overtake a store only where no byte of it is stored: all of a vector's count.
TEST(StaticSchedule, StoresOfVectorsReachToTheirLastByte) {
  const auto overtakes = [](const std::string& vector, const std::string& values, int offset) {
    const Scheduled s =
        schedule_of("mov.f32 %f9, 0f3f800000;\nst.shared." + vector + "f32 [%r0], " + values +
                    ";\nld.shared.f32 %f1, [%r0+" + std::to_string(offset) +
                    "];\nst.shared.f32 [%r1], %f1;\nret;\n");
    const std::vector<std::string> opcodes = s.opcodes();
    const auto place = [&](const std::string& opcode) {
      return std::find(opcodes.begin(), opcodes.end(), opcode) - opcodes.begin();
    };
    return place("ld.shared.f32") < place("st.shared." + vector + "f32");
  };
  EXPECT_TRUE(overtakes("", "%f0", 4));
  EXPECT_FALSE(overtakes("", "%f0", 0));
  EXPECT_TRUE(overtakes("v2.", "{%f0, %f2}", 8));
  EXPECT_FALSE(overtakes("v2.", "{%f0, %f2}", 4));
  EXPECT_TRUE(overtakes("v4.", "{%f0, %f2, %f3, %f4}", 16));
  EXPECT_FALSE(overtakes("v4.", "{%f0, %f2, %f3, %f4}", 12));
}

}  // namespace
}  // namespace bw::sim::test::static_schedule_test
