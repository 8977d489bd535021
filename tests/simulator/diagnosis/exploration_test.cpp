/// \file
/// Exploration of synchronisation: the search against one that tries every order, and kernels whose
/// run goes well while another order does not.
#include <algorithm>
#include <cstdio>
#include <random>

#include "common/simulator/diagnosis/exploration/watch.hpp"
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::exploration_test {
namespace {

using exploration::Action;
using exploration::Exploration;
using exploration::Step;
using exploration::SyncProgram;
using exploration::Verdict;

constexpr uint64_t kManyStates = 2'000'000;

/// Threads' programs, concatenated; every barrier with a count is initialised before
/// anything else.
SyncProgram program_of(const std::vector<int64_t>& counts,
                       const std::vector<std::vector<Step>>& threads) {
  SyncProgram program;
  std::vector<uint32_t> inits;
  for (size_t i = 0; i < counts.size(); ++i) {
    program.objects.push_back({"bar"});
    if (counts[i] == 0) continue;
    Step init{.action = Action::init, .object = static_cast<uint32_t>(i), .amount = counts[i]};
    init.after = inits;
    inits = {static_cast<uint32_t>(program.steps.size())};
    program.steps.push_back(init);
  }
  for (const std::vector<Step>& thread : threads) {
    std::vector<uint32_t> before = inits;
    for (Step step : thread) {
      step.after = before;
      before = {static_cast<uint32_t>(program.steps.size())};
      program.steps.push_back(step);
    }
  }
  return program;
}

Step arrive(uint32_t object, int64_t amount = 1) {
  return {.action = Action::arrive, .object = object, .amount = amount};
}
Step wait(uint32_t object, int64_t phase) {
  return {.action = Action::wait, .object = object, .phase = phase};
}

/// A ring of `stages` stages, their barriers full (even) and empty (odd).
SyncProgram ring(uint32_t stages, uint32_t rounds, uint32_t producer_phase_offset) {
  std::vector<Step> producer, consumer;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t stage = round % stages;
    const auto use = static_cast<int64_t>(round / stages);
    producer.push_back(wait(2 * stage + 1, use - 1 + producer_phase_offset));
    producer.push_back(arrive(2 * stage));
    consumer.push_back(wait(2 * stage, use));
    consumer.push_back(arrive(2 * stage + 1));
  }
  return program_of(std::vector<int64_t>(size_t{2} * stages, 1), {producer, consumer});
}

TEST(Exploration, ARingIsProvenInAsManyStatesAsItHasSteps) {
  const SyncProgram program = ring(3, 30, 0);
  const Exploration found = explore(program, kManyStates);
  EXPECT_EQ(found.verdict, Verdict::proven);
  EXPECT_LE(found.states, program.steps.size() + 1);
}

TEST(Exploration, AWrongFirstPhaseIsADeadlock) {
  const Exploration found = explore(ring(2, 4, 1), kManyStates);
  EXPECT_EQ(found.verdict, Verdict::deadlock);
  EXPECT_EQ(found.waiting.size(), 2u);
}

TEST(Exploration, WhoGetsTwoPhasesAheadIsFound) {
  // Two producers of one phase each; nothing tells the second that the first phase was seen.
  const SyncProgram program = program_of({1}, {{arrive(0)}, {arrive(0)}, {wait(0, 0), wait(0, 1)}});
  const Exploration found = explore(program, kManyStates);
  EXPECT_EQ(found.verdict, Verdict::overrun);
  ASSERT_EQ(found.waiting.size(), 1u);
  EXPECT_EQ(program.steps[found.waiting[0]].phase, 0);
}

TEST(Exploration, ArrivalsBeyondTheCountAreFound) {
  // The third arrival belongs to phase 1, but may come while bytes of phase 0 are missing.
  Step expect{.action = Action::expect_tx, .amount = 16};
  expect.paired = true;
  Step complete{.action = Action::complete_tx, .amount = 16};
  const SyncProgram program = program_of({1}, {{expect, arrive(0)}, {complete}, {arrive(0)}});
  EXPECT_EQ(explore(program, kManyStates).verdict, Verdict::too_many);
}

TEST(Exploration, TheBoundIsSaid) {
  const Exploration found = explore(ring(2, 8, 0), 5);
  EXPECT_EQ(found.verdict, Verdict::bound);
}

/// For messages.
std::string text_of(const SyncProgram& program) {
  static constexpr const char* kNames[] = {"join",   "init",        "arrive",    "drop",
                                           "expect", "complete_tx", "increment", "wait"};
  std::string text;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    text += std::to_string(i) + ": " + kNames[static_cast<size_t>(step.action)] + " of " +
            std::to_string(step.object) + ", amount " + std::to_string(step.amount) + ", phase " +
            std::to_string(step.phase) + (step.paired ? ", paired" : "") + ", after";
    for (const uint32_t before : step.after) text += " " + std::to_string(before);
    text += "\n";
  }
  return text;
}

/// Threads of a few steps on one or two barriers. With `any_action` barriers may be initialised
/// late and lose or gain arrivals for good.
SyncProgram random_program(std::mt19937& random, bool any_action) {
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  const uint32_t barriers = 1 + below(2);
  std::vector<int64_t> counts;
  for (uint32_t i = 0; i < barriers; ++i) counts.push_back(1 + below(3));
  std::vector<std::vector<Step>> threads(2 + below(2));
  for (std::vector<Step>& thread : threads) {
    std::vector<int64_t> waited(barriers, 0);
    for (uint32_t steps = 1 + below(4); steps > 0; --steps) {
      const uint32_t object = below(barriers);
      if (any_action && below(4) == 0) {
        const Action action = below(2) == 0 ? Action::arrive_drop : Action::increment;
        thread.push_back({.action = action, .object = object, .amount = 1});
        continue;
      }
      switch (below(6)) {
        case 0:
        case 1:
          thread.push_back(wait(object, waited[object]++));
          break;
        case 2: {
          Step expect{.action = Action::expect_tx, .object = object, .amount = 8};
          expect.paired = below(4) != 0;
          thread.push_back(expect);
          if (expect.paired) thread.push_back(arrive(object));
          break;
        }
        case 3:
          thread.push_back({.action = Action::complete_tx, .object = object, .amount = 8});
          break;
        default:
          thread.push_back(arrive(object));
      }
    }
  }
  if (any_action && below(3) == 0) {
    std::vector<Step>& thread = threads[below(static_cast<uint32_t>(threads.size()))];
    const uint32_t place = below(static_cast<uint32_t>(thread.size()) + 1);
    thread.insert(thread.begin() + place,
                  {.action = Action::init, .object = 0, .amount = counts[0]});
    counts[0] = 0;
  }
  return program_of(counts, threads);
}

class Orders : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Exploration, Orders, testing::Bool());

TEST_P(Orders, FewerFindWhatAllFind) {
  std::mt19937 random(7);
  int wrong = 0, right = 0;
  uint64_t states = 0, all_states = 0;
  for (int i = 0; i < 6000; ++i) {
    const SyncProgram program = random_program(random, GetParam());
    const Exploration few = explore(program, kManyStates);
    const Exploration all = explore(program, kManyStates, /*reduce=*/false);
    ASSERT_EQ(few.verdict == Verdict::proven, all.verdict == Verdict::proven)
        << "program " << i << ":\n"
        << text_of(program) << "all orders: " << static_cast<int>(all.verdict);
    (all.verdict == Verdict::proven ? right : wrong) += 1;
    if (all.verdict != Verdict::proven) continue;
    states += few.states;
    all_states += all.states;
  }
  EXPECT_GT(right, 50);
  EXPECT_GT(wrong, 50);
  EXPECT_LT(states, all_states);
}

/// Runs a body as in run_body and explores it; what was written.
std::string explore_body(std::string_view body, uint32_t thread_count, uint64_t states = 100'000,
                         uint32_t ctas = 1, bool lanes_apart = false) {
  std::FILE* const file = std::tmpfile();
  Runner runner;
  runner.device().observe(
      std::make_unique<exploration::ExplorationWatch>(states, file, lanes_apart));
  auto out = runner.buffer(std::vector<uint32_t>(4));
  runner.run(synchronisation_kernel(body), grid(ctas, thread_count), out);
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

const std::string kTwoBarriers =
    "  setp.eq.u32 %p2, %r0, 0;\n"
    "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
    "  bar.sync 0;\n"
    "  and.b32 %r4, %r0, 31;\n  setp.eq.u32 %p4, %r4, 0;\n"
    "  setp.ge.u32 %p3, %r0, 32;\n  setp.ge.u32 %p5, %r0, 64;\n";

std::string wait_for(const std::string& label, const std::string& barrier, int parity) {
  return label + ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [" + barrier + "], " +
         std::to_string(parity) + ";\n  @!%p1 bra " + label + ";\n";
}

TEST(Exploration, APipelineOfAKernelIsProven) {
  const std::string text = explore_body(
      kTwoBarriers + "  @%p3 bra CONSUMER;\n" + wait_for("E0", "bar+8", 1) +
          "  bar.warp.sync -1;\n"
          "  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];\n" +
          wait_for("E1", "bar+8", 0) +
          "  bar.warp.sync -1;\n"
          "  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];\n  bra END;\n"
          "CONSUMER:\n" +
          wait_for("F0", "bar", 0) +
          "  bar.warp.sync -1;\n  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar+8];\n" +
          wait_for("F1", "bar", 1) +
          "  bar.warp.sync -1;\n  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar+8];\nEND:\n",
      64);
  EXPECT_NE(text.find("k: exploration: 1 cluster with "), text.npos) << text;
  EXPECT_NE(text.find("by 2 warps on 3 barriers: every order ends ("), text.npos) << text;
}

/// Warps 0 and 1 complete a phase each of one barrier; warp 2 waits for both. Warp 1 comes late.
const std::string kTwoPhasesAhead = kTwoBarriers +
                                    "  @%p5 bra WAITER;\n  @%p3 bra SECOND;\n"
                                    "  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];\n  bra END;\n"
                                    "SECOND:\n  nanosleep.u32 20000;\n"
                                    "  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];\n  bra END;\n"
                                    "WAITER:\n" +
                                    wait_for("F0", "bar", 0) + wait_for("F1", "bar", 1) + "END:\n";

TEST(Exploration, AnOrderThatTheRunDoesNotTakeIsShown) {
  run_body(kTwoPhasesAhead, 96, 4);  // the run itself goes well
  expect_fault(
      FaultKind::contract,
      {"a phase can complete before a wait for the previous one has been executed",
       "in an order that this run has not taken", "step by step",
       "warp 0                        test.ptx:", "1 arrival on mbarrier bar; phase 1",
       "warp 1                        test.ptx:", "1 arrival on mbarrier bar; phase 2",
       "warp 2 at test.ptx:", "waits for phase 0 (parity 0) of mbarrier bar", "two phases ahead"},
      [&] { explore_body(kTwoPhasesAhead, 96); });
}

TEST(Exploration, TheTableHoldsEveryStepOfTheOrderWithTheBarrierBehindIt) {
  const Report report =
      expect_fault(FaultKind::contract, {}, [&] { explore_body(kTwoPhasesAhead, 96); });
  // Header, ten steps, header, the step that is too late.
  ASSERT_EQ(report.details.size(), 13u) << report.format();
  std::vector<std::string> rows;
  for (size_t i = 1; i <= 10; ++i) {
    const std::string& row = report.details[i];
    EXPECT_EQ(std::stoul(row.substr(0, 5)), i) << row;
    rows.push_back(row.substr(7));
  }
  const auto row = [](int warp, int line, const std::string& deed) {
    std::string text = "warp " + std::to_string(warp), place = "test.ptx:" + std::to_string(line);
    text.resize(28, ' ');
    place.resize(22, ' ');
    return text + "  " + place + "  " + deed;
  };
  const std::string ready = "; phase 0, pending 1 of 1, tx-count 0";
  EXPECT_EQ(rows[8], row(0, 25, "1 arrival on mbarrier bar; phase 1, pending 1 of 1, tx-count 0"));
  EXPECT_EQ(rows[9], row(1, 29, "1 arrival on mbarrier bar; phase 2, pending 1 of 1, tx-count 0"));
  std::vector<std::string> expected = {
      row(0, 16, "initialises mbarrier bar for 1 arrival" + ready),
      row(0, 17, "initialises mbarrier bar+8 for 1 arrival" + ready)};
  for (const int warp : {0, 1, 2}) {
    expected.push_back(row(warp, 18, "32 arrivals on named barrier 0, phase 0"));
    expected.push_back(row(warp, 18, "waits for named barrier 0, phase 0"));
  }
  std::sort(expected.begin(), expected.end());
  std::sort(rows.begin(), rows.begin() + 8);
  rows.resize(8);
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(report.details[12],
            "  warp 2 at test.ptx:33: waits for phase 0 (parity 0) of mbarrier bar");
}

TEST(Exploration, OfALongOrderTheLastFortyStepsAreShown) {
  // One lane goes through 60 phases of a barrier of its own before two warps arrive on another one
  // without knowing of each other.
  const std::string body =
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n  bar.sync 0;\n"
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OTHER;\n"
      "  setp.ne.u32 %p4, %r0, 0;\n  @%p4 bra END;\n  mov.u32 %r5, 0;\n"
      "AGAIN:\n  mbarrier.arrive.shared::cta.b64 _, [bar+8];\n  and.b32 %r6, %r5, 1;\n"
      "POLL:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+8], %r6;\n  @!%p1 bra POLL;\n"
      "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p5, %r5, 60;\n  @%p5 bra AGAIN;\n"
      "  mbarrier.arrive.shared::cta.b64 _, [bar];\n  nanosleep.u32 20000;\n" +
      wait_for("F0", "bar", 0) + wait_for("F1", "bar", 1) +
      "  bra END;\nOTHER:\n  setp.ne.u32 %p4, %r0, 32;\n  @%p4 bra END;\n"
      "  nanosleep.u32 200000;\n  mbarrier.arrive.shared::cta.b64 _, [bar];\nEND:\n";
  const Report report = expect_fault(FaultKind::contract, {"too late, or too early"},
                                     [&] { explore_body(body, 64); });
  const auto end = std::find(report.details.begin(), report.details.end(),
                             "which is too late, or too early, for:");
  const auto shown = static_cast<size_t>(end - report.details.begin()) - 2;
  EXPECT_EQ(shown, 40u) << report.format();
  ASSERT_GT(report.details.size(), 41u);
  const size_t first = std::stoul(report.details[2]);
  EXPECT_EQ(report.details[1], "  ... " + std::to_string(first - 1) + " steps before these");
  EXPECT_EQ(std::stoul(report.details[41]), first + 39);
}

TEST(Exploration, WhatACopyDoesLaterIsAStepOfItsOwn) {
  // Warp 1 arrives once in each of two phases; that the first is complete only warp 2 knows. In the
  // run the copy's bytes, which the first phase waits for, come before the second arrival.
  const std::string body =
      kTwoBarriers +
      "  @%p3 bra SECOND;\n"
      "  @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
      "  @%p2 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%rd0], 16, "
      "[bar];\n" +
      wait_for("A", "bar", 0) + wait_for("B", "bar", 1) +
      "  bra END;\n"
      "SECOND:\n  nanosleep.u32 20000;\n  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar];\nEND:\n";
  expect_fault(FaultKind::contract,
               {"a phase can complete before a wait for the previous one has been executed",
                "warp 0's operation, later", "16 bytes of mbarrier bar have arrived; phase 1",
                "warp 0 at test.ptx:27: waits for phase 0"},
               [&] { explore_body(body, 64); });
}

TEST(Exploration, LanesThatMeetHandOnWhatTheyHaveDone) {
  // The init by lane 0 precedes lane 1's operations after a __syncwarp, though lane 1 has done
  // nothing before; its wait precedes lane 2's operations after another one.
  const auto lane = [](int number) {
    return "  setp.eq.u32 %p2, %r0, " + std::to_string(number) + ";\n";
  };
  const std::string meet = "  bar.warp.sync -1;\n";
  const std::string arrive = "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];\n";
  const std::string text = explore_body(
      lane(0) + "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n" + meet + lane(1) + arrive +
          "  @!%p2 bra MEET;\n" + wait_for("W", "bar", 0) + "MEET:\n" + meet + lane(2) + arrive +
          meet + lane(1) + "  @!%p2 bra LEAVE;\n" + wait_for("V", "bar", 1) + "LEAVE:\n",
      32);
  EXPECT_NE(text.find("every order ends"), text.npos) << text;
  // Without the second __syncwarp lane 2 may be early.
  expect_fault(FaultKind::contract, {"in an order that this run has not taken"}, [&] {
    explore_body(lane(0) + "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n" + meet + lane(1) +
                     arrive + "  @!%p2 bra LATER;\n" + wait_for("W", "bar", 0) +
                     wait_for("V", "bar", 1) + "  bra LEAVE;\nLATER:\n  nanosleep.u32 20000;\n" +
                     lane(2) + arrive + "LEAVE:\n",
                 32);
  });
}

std::string explore_lanes(const std::string& body) {
  return explore_body(body, 64, 100'000, 1, /*lanes_apart=*/true);
}

/// A ring of one stage for three rounds: all lanes of warp 0 wait for the stage, `meet`, and lane 0
/// fills it; lane 0 of warp 1 takes what is there.
std::string all_wait_one_fills(const std::string& meet) {
  const std::string arrive = "  @%p4 mbarrier.arrive.shared::cta.b64 _, ";
  std::string producer, consumer;
  for (int round = 0; round < 3; ++round) {
    const std::string number = std::to_string(round);
    producer += wait_for("E" + number, "bar+8", (round & 1) ^ 1) + meet + arrive + "[bar];\n";
    consumer +=
        wait_for("F" + number, "bar", round & 1) + "  bar.warp.sync -1;\n" + arrive + "[bar+8];\n";
  }
  return kTwoBarriers + "  @%p3 bra CONSUMER;\n" + producer + "  bra END;\nCONSUMER:\n" + consumer +
         "END:\n";
}

TEST(Exploration, APhaseOvertakesALaneThatLags) {
  const std::string body = all_wait_one_fills("");
  EXPECT_NE(explore_body(body, 64).find("every order ends"), std::string::npos)
      << "lanes that waited together stay together";
  const Report report =
      expect_fault(FaultKind::contract,
                   {"a phase can complete before a wait for the previous one has been executed"},
                   [&] { explore_lanes(body); });
  EXPECT_NE(report.fix.find("__syncwarp"), report.fix.npos) << report.fix;
  EXPECT_NE(report.details.back().find("warp 0, lanes 1 to 31 at "), std::string::npos)
      << report.format();
}

TEST(Exploration, LanesThatMeetAtASyncOrAnAlignedInstructionDoNotLag) {
  for (const char* const meet : {"  bar.warp.sync -1;\n", "  vote.sync.any.pred %p6, %p2, -1;\n",
                                 "  tcgen05.wait::ld.sync.aligned;\n"}) {
    const std::string text = explore_lanes(all_wait_one_fills(meet));
    EXPECT_NE(text.find("every order ends"), text.npos) << meet << text;
  }
}

TEST(Exploration, ABarrierUsedBeforeItsInitIsFound) {
  const std::string body =
      "  setp.eq.u32 %p2, %r0, 0;\n  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra SECOND;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n  bra END;\n"
      "SECOND:\n  nanosleep.u32 20000;\n  setp.eq.u32 %p2, %r0, 32;\n"
      "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];\nEND:\n";
  expect_fault(FaultKind::contract,
               {"a barrier can be used before it is initialised", "warp 1 at test.ptx:"},
               [&] { explore_body(body, 64); });
}

TEST(Exploration, ClustersThatAreAlikeAreExploredOnce) {
  const std::string alike = explore_body(kTwoBarriers, 64, 1000, 3);
  EXPECT_NE(alike.find("exploration: 3 clusters with "), alike.npos) << alike;
  EXPECT_EQ(std::count(alike.begin(), alike.end(), '\n'), 1) << alike;
  // The second CTA arrives once more.
  const std::string unlike = explore_body(kTwoBarriers +
                                              "  mov.u32 %r7, %ctaid.x;\n"
                                              "  setp.eq.u32 %p6, %r7, 1;\n"
                                              "  and.pred %p6, %p6, %p2;\n"
                                              "  @%p6 mbarrier.arrive.shared::cta.b64 _, [bar];\n",
                                          64, 1000, 3);
  EXPECT_NE(unlike.find("exploration: 2 clusters with "), unlike.npos) << unlike;
  EXPECT_NE(unlike.find("exploration: 1 cluster with "), unlike.npos) << unlike;
}

TEST(Exploration, ClustersWhoseWarpsDifferAreNotAlike) {
  // In CTA 0 thread 0 arrives, in CTA 1 thread 32, by the same instruction.
  const std::string text = explore_body(kTwoBarriers +
                                            "  mov.u32 %r7, %ctaid.x;\n  shl.b32 %r7, %r7, 5;\n"
                                            "  setp.eq.u32 %p6, %r7, %r0;\n"
                                            "  @%p6 mbarrier.arrive.shared::cta.b64 _, [bar];\n",
                                        64, 1000, 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Exploration, ClustersWhoseAmountsDifferAreNotAlike) {
  // By the same instruction of the same thread: one arrival in CTA 0, two in CTA 1.
  const std::string text =
      explore_body(kTwoBarriers +
                       "  @%p2 mbarrier.init.shared::cta.b64 [bar+16], 4;\n"
                       "  mov.u32 %r7, %ctaid.x;\n  add.u32 %r7, %r7, 1;\n"
                       "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar+16], %r7;\n",
                   64, 1000, 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Exploration, TheBoundOfStatesIsSaid) {
  EXPECT_NE(explore_body(kTwoBarriers, 64, 2).find("not proven, nothing found in 2 states"),
            std::string::npos);
}

}  // namespace
}  // namespace bw::sim::test::exploration_test
