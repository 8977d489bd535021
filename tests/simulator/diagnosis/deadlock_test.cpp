/// \file
/// What the reports of deadlock and livelock must name.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/diagnosis/waiting.hpp"
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::deadlock_test {
namespace {

Report expect_deadlock(const std::string& body, uint32_t thread_count,
                       const std::vector<std::string>& parts) {
  return expect_fault(FaultKind::deadlock, parts, [&] { run_body(body, thread_count, 4); });
}

/// One barrier for `count` arrivals, initialised by thread 0; %p2 is "thread 0", %p3 "warp 1 and
/// above".
std::string with_barrier(int count, const std::string& body) {
  return "  setp.eq.u32 %p2, %r0, 0;\n"
         "  @%p2 mbarrier.init.shared::cta.b64 [bar], " +
         std::to_string(count) +
         ";\n"
         "  bar.sync 0;\n"
         "  setp.ge.u32 %p3, %r0, 32;\n" +
         body;
}

TEST(Waiting, NumbersInARowAreARange) {
  const std::pair<std::vector<uint32_t>, const char*> kLists[] = {
      {{}, ""},
      {{3}, "3"},
      {{3, 4}, "3, 4"},
      {{0, 1, 2}, "0-2"},
      {{1, 3, 4, 6, 7, 8, 11}, "1, 3, 4, 6-8, 11"},
  };
  for (const auto& [numbers, text] : kLists) EXPECT_EQ(waiting::ranges(numbers), text);
}

TEST(Deadlock, MissingArriveNamesBarrierPhaseAndCounts) {
  const Report report =
      expect_deadlock(with_barrier(2,
                                   "  @%p3 bra WAIT;\n"
                                   "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];\n"
                                   "  bra END;\n"
                                   "WAIT:\n"
                                   "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                                   "  @!%p1 bra WAIT;\n"
                                   "END:\n"),
                      64,
                      {"deadlock", "1 warp of k",
                       "warp 1 at test.ptx:", "`mbarrier.try_wait.parity.shared::cta.b64`",
                       "waits for phase 0 (parity 0) of mbarrier bar",
                       "in phase 0: pending 1 of 2 arrivals, tx-count 0",
                       "1 arrival by warp 0 at test.ptx:", "1 arrival of 2 missing in phase 0"});
  EXPECT_NE(report.where.find("CTA (0,0,0)"), std::string::npos) << report.where;
  // Nothing is said of bytes where there are none.
  EXPECT_EQ(report.format().find("bytes"), std::string::npos) << report.format();
}

TEST(Deadlock, WithoutChecksNobodyKnowsWhoArrived) {
  Settings settings = test_settings();
  settings.checks = Checks::off;
  const std::string body = with_barrier(1, R"(
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra WAIT;
)");
  expect_fault(FaultKind::deadlock,
               {"waits for phase 0 (parity 0) of mbarrier bar", "pending 1 of 1 arrival",
                "the arrivals were not recorded (BW_SIM_CHECKS=off)"},
               [&] { run_body(body, 64, 4, settings); });
}

TEST(Deadlock, LaterPhaseNamesWhoArrivedEarlierAndWhereTheyAre) {
  // Warp 0 arrives in phase 0 and exits; warp 1 waits for phase 1 as well.
  expect_deadlock(with_barrier(1,
                               "  @%p3 bra WAIT;\n"
                               "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];\n"
                               "  bra END;\n"
                               "WAIT:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                               "  @!%p1 bra WAIT;\n"
                               "AGAIN:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 1;\n"
                               "  @!%p1 bra AGAIN;\n"
                               "END:\n"),
                  64,
                  {"waits for phase 1 (parity 1)", "it is in phase 1: pending 1 of 1 arrival",
                   "in this phase: no arrival", "earlier phases had 1 arrival at test.ptx:",
                   "by warp 0 (last in phase 0), which now has exited"});
}

TEST(Deadlock, WrongInitialPhase) {
  // A pipeline of one stage: full = bar, empty = bar+8. The producer waits for empty with parity 0
  // first.
  const Report report = expect_deadlock(
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
      "  bar.sync 0;\n"
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra CONSUMER;\n"
      "EMPTY:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+8], 0;\n  @!%p1 bra EMPTY;\n"
      "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];\n  bra END;\n"
      "CONSUMER:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra CONSUMER;\n"
      "  mbarrier.arrive.shared::cta.b64 _, [bar+8];\nEND:\n",
      64,
      {"2 warps of k wait in 2 roles", "[1] warp 0", "of mbarrier bar+8", "[2] warp 1",
       "no thread has ever arrived on it; initialised by warp 0 at test.ptx:", "parity 1",
       "wrong initial phase"});
  EXPECT_NE(report.fix.find("bar+8: no thread has ever arrived"), std::string::npos) << report.fix;
}

TEST(Deadlock, TooManyBytesExpected) {
  expect_deadlock(with_barrier(1,
                               "  @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4096;\n"
                               "  @%p2 mbarrier.complete_tx.shared::cta.b64 [bar], 1024;\n"
                               "WAIT:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                               "  @!%p1 bra WAIT;\n"),
                  64,
                  {"pending 0 of 1 arrival, tx-count 3072 (4096 bytes expected, 1024 completed)",
                   "expect_tx of 4096 bytes by warp 0",
                   "complete_tx of 1024 bytes from the operation of warp 0",
                   "3072 bytes announced by expect_tx have not arrived"});
}

TEST(Deadlock, TooFewBytesExpected) {
  expect_deadlock(with_barrier(1,
                               "  @%p2 mbarrier.complete_tx.shared::cta.b64 [bar], 4096;\n"
                               "  @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
                               "WAIT:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                               "  @!%p1 bra WAIT;\n"),
                  32, {"tx-count -3072", "3072 bytes arrived that no expect_tx announced"});
}

TEST(Deadlock, PipelineStageIsNamed) {
  // Four barriers initialised by one instruction in a loop; the wait is on the third.
  expect_deadlock(
      "  mov.u32 %r5, 0;\n"
      "LOOP:\n"
      "  shl.b32 %r6, %r5, 3;\n  add.u32 %r6, %r1, %r6;\n"
      "  mbarrier.init.shared::cta.b64 [%r6], 1;\n"
      "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p4, %r5, 4;\n  @%p4 bra LOOP;\n"
      "WAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+16], 0;\n"
      "  @!%p1 bra WAIT;\n",
      1, {"mbarrier bar+16 (stage 2 of the 4 initialised at test.ptx:"});
}

/// Runs `inits` twice, with %r6 the address of a barrier of the first row; then waits for the
/// barrier at `waited`.
std::string with_rows(const std::string& inits, uint32_t waited) {
  return "  mov.u32 %r5, 0;\n"
         "LOOP:\n"
         "  shl.b32 %r6, %r5, 3;\n  add.u32 %r6, %r1, %r6;\n" +
         inits +
         "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p4, %r5, 2;\n  @%p4 bra LOOP;\n"
         "WAIT:\n"
         "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+" +
         std::to_string(waited) +
         "], 0;\n"
         "  @!%p1 bra WAIT;\n";
}

TEST(Deadlock, RowsOfARingAreToldApart) {
  // As a compiler writes a loop that was unrolled: all inits have one line.
  const std::string in_turn =
      "  .loc 1 7 0\n"
      "  mbarrier.init.shared::cta.b64 [%r6], 1;\n"
      "  mbarrier.init.shared::cta.b64 [%r6+16], 1;\n";
  expect_deadlock(with_rows(in_turn, 16), 1,
                  {"mbarrier bar+16 (stage 0 of the second row of 2 initialised at ring.cuh:7"});
  expect_deadlock(with_rows(in_turn, 8), 1,
                  {"mbarrier bar+8 (stage 1 of the first row of 2 initialised at ring.cuh:7"});
  // One row after the other, by two instructions.
  const std::string row_by_row =
      "  .loc 1 7 0\n"
      "  mbarrier.init.shared::cta.b64 [%r6], 1;\n"
      "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p4, %r5, 2;\n  @%p4 bra LOOP;\n"
      "  mov.u32 %r5, 0;\n"
      "SECOND:\n"
      "  shl.b32 %r6, %r5, 3;\n  add.u32 %r6, %r1, %r6;\n"
      "  mbarrier.init.shared::cta.b64 [%r6+16], 1;\n"
      "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p4, %r5, 2;\n  @%p4 bra SECOND;\n"
      "  mov.u32 %r5, 1;\n  bra.uni DONE;\nDONE:\n";
  expect_deadlock(with_rows(row_by_row, 24), 1,
                  {"mbarrier bar+24 (stage 1 of the second row of 2 initialised at ring.cuh:7"});
}

TEST(Deadlock, RowsAreNamedByTheCopyThatFollowsAWait) {
  // Nothing was copied yet: the producer waits for empty[0] with the parity of a later lap.
  const std::string inits =
      "  .loc 1 7 0\n"
      "  mbarrier.init.shared::cta.b64 [%r6], 1;\n"
      "  mbarrier.init.shared::cta.b64 [%r6+16], 1;\n";
  const auto with_producer = [&](const char* after) {
    return with_rows(inits, 16) + after +
           "FULL:\n"
           "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra FULL;\n"
           "  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [bar+64], [%rd1], 16, "
           "[bar];\n";
  };
  expect_deadlock(
      with_producer("  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [bar+64], "
                    "[%rd1], 16, [bar];\n"),
      1, {"mbarrier bar+16 (stage 0 of the 2 empty barriers initialised at ring.cuh:7"});
  // A copy after the next wait says nothing about this one.
  expect_deadlock(with_producer(""), 1,
                  {"mbarrier bar+16 (stage 0 of the second row of 2 initialised at ring.cuh:7"});
}

TEST(Deadlock, ElectedLaneAndTheLanesThatWaitForIt) {
  expect_deadlock(with_barrier(1,
                               "  @!%p2 bra JOIN;\n"
                               "WAIT:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                               "  @!%p1 bra WAIT;\n"
                               "JOIN:\n  bar.warp.sync 0xffffffff;\n"),
                  32, {"warp 0 lane 0 (31 lanes wait to reconverge)"});
}

TEST(Deadlock, NamedBarrierWithAMissingWarp) {
  // Warp 2 waits on an mbarrier instead; warp 3 has exited, but a counted barrier does not know
  // that.
  expect_deadlock(with_barrier(1,
                               "  setp.ge.u32 %p4, %r0, 96;\n  @%p4 bra END;\n"
                               "  setp.ge.u32 %p5, %r0, 64;\n  @%p5 bra WAIT;\n"
                               "  bar.sync 1, 128;\n  bra END;\n"
                               "WAIT:\n"
                               "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                               "  @!%p1 bra WAIT;\nEND:\n"),
                  128,
                  {"warps 0, 1 at test.ptx:", "`bar.sync`", "waits at barrier 1: 64 of 128 threads",
                   "arrived: warps 0, 1", "not arrived: warp 2 waits at test.ptx:", "on bar",
                   "warp 3 has exited", "barrier 1: 64 threads missing"});
}

TEST(Deadlock, SyncthreadsInsideARole) {
  expect_deadlock(
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OTHER;\n  bar.sync 0;\n  bra END;\n"
      "OTHER:\n  bar.sync 1;\nEND:\n",
      64,
      {"barrier 0: 32 of 64 threads (the whole CTA, less exited warps)", "barrier 1",
       "not arrived: warp 1 waits at test.ptx:", "at barrier 1",
       "__syncthreads inside a role's branch"});
}

TEST(Deadlock, ClusterBarrierWithAMissingCta) {
  Runner runner;
  auto out = runner.buffer(std::vector<uint32_t>(4));
  const std::string body =
      "  mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  setp.eq.u32 %p2, %r2, 1;\n  @%p2 bra WAIT;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  bra END;\n"
      "WAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra WAIT;\nEND:\n";
  expect_fault(FaultKind::deadlock,
               {"CTA ranks 0, 2, 3 warp 0 lane 0 at test.ptx:",
                "the cluster barrier, phase 0: 3 of 4 live threads",
                "not arrived: CTA rank 1 warp 0 waits at test.ptx:",
                "cluster barrier: 1 thread missing", "the cluster that starts at CTA (0,0,0)"},
               [&] { runner.run(synchronisation_kernel(body), grid(4, 1, 4), out); });
}

TEST(Deadlock, EightRolesFitOnAScreen) {
  // Eight warps, each waiting on its own barrier that only the next warp could complete.
  std::string body =
      "  .shared .align 8 .b64 ring[8];\n  mov.u32 %r10, ring;\n"
      "  setp.eq.u32 %p2, %r0, 0;\n";
  for (int k = 0; k < 8; ++k)
    body += "  @%p2 mbarrier.init.shared::cta.b64 [ring+" + std::to_string(8 * k) + "], 1;\n";
  body += "  bar.sync 0;\n  shr.u32 %r11, %r0, 5;\n";
  for (int k = 0; k < 8; ++k) {
    const std::string n = std::to_string(k);
    body += "  setp.ne.u32 %p3, %r11, " + n + ";\n  @%p3 bra NEXT" + n + ";\nWAIT" + n +
            ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [ring+" + std::to_string(8 * k) +
            "], 0;\n  @!%p1 bra WAIT" + n + ";\nNEXT" + n + ":\n";
  }
  const Report report = expect_deadlock(body, 256, {"8 warps of k wait in 8 roles"});
  const std::string text = report.format();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40) << text;
}

TEST(Deadlock, OfManyRolesEightAreShown) {
  // Ten warps, each at a wait of its own on the one barrier.
  std::string body = with_barrier(1, "  shr.u32 %r11, %r0, 5;\n");
  for (int k = 0; k < 10; ++k) {
    const std::string n = std::to_string(k);
    body += "  setp.ne.u32 %p4, %r11, " + n + ";\n  @%p4 bra NEXT" + n + ";\nWAIT" + n +
            ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra WAIT" + n +
            ";\nNEXT" + n + ":\n";
  }
  const Report report = expect_deadlock(
      body, 320, {"10 warps of k wait in 10 roles", "[8] warp 7 at", "and 2 more waiting roles"});
  EXPECT_EQ(report.format().find("[9] warp 8"), std::string::npos) << report.format();
}

TEST(Deadlock, ArrivalsOfOneInstructionAreCountedPhaseByPhase) {
  // Thread 0 goes four times around and arrives for 3 each time. Of a barrier for 6 that is two
  // phases, each of 6; of one for 20 it is 12 of the first phase.
  const auto body = [](int count) {
    return with_barrier(count,
                        "  @%p3 bra WAIT;\n  @!%p2 bra END;\n  mov.u32 %r5, 0;\n"
                        "AGAIN:\n  mbarrier.arrive.shared::cta.b64 _, [bar], 3;\n"
                        "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p4, %r5, 4;\n  @%p4 bra AGAIN;\n"
                        "  bra END;\n"
                        "WAIT:\n  nanosleep.u32 5000;\n"
                        "FOREVER:\n"
                        "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                        "  @!%p1 bra FOREVER;\nEND:\n");
  };
  expect_deadlock(body(20), 64,
                  {"in phase 0: pending 8 of 20 arrivals",
                   "12 arrivals by warp 0 at test.ptx:", "8 arrivals of 20 missing in phase 0"});
  expect_fault(FaultKind::deadlock,
               {"it is in phase 2: pending 6 of 6 arrivals", "in this phase: no arrival",
                "earlier phases had 6 arrivals at test.ptx:", "by warp 0 (last in phase 1)"},
               [&] { run_body(body(6), 64, 4, hardware_settings()); });
}

TEST(Deadlock, EachWaitIsShownSinceItsOwnBeginning) {
  // Warp 1 waits for the first barrier, which warp 0 completes after 20 us, then for the second. A
  // loop around try_wait is one wait.
  const Report report = expect_deadlock(
      with_barrier(1,
                   "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
                   "  bar.sync 0;\n  @%p3 bra WAIT;\n"
                   "  nanosleep.u32 20000;\n"
                   "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar];\n"
                   "  bra END;\n"
                   "WAIT:\n"
                   "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n"
                   "  @!%p1 bra WAIT;\n"
                   "AGAIN:\n"
                   "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar+8], 0, 1000;\n"
                   "  @!%p1 bra AGAIN;\nEND:\n"),
      64, {"waits for phase 0 (parity 0) of mbarrier bar+8", ", since cycle "});
  const std::string text = report.format();
  const uint64_t since = std::stoull(text.substr(text.find(", since cycle ") + 14));
  // 20 us at 1.965 GHz; two waits' worth of the limit of 1000 ns is no longer the same wait.
  EXPECT_GT(since, 39'000u) << text;
  EXPECT_LT(since, 41'000u) << text;
}

TEST(Deadlock, SameReportInEveryRun) {
  const std::string body = with_barrier(
      1, "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra WAIT;\n");
  const Report first = expect_deadlock(body, 64, {"warps 0, 1"});
  const Report second = expect_deadlock(body, 64, {"warps 0, 1"});
  EXPECT_EQ(first.format(), second.format());
}

TEST(Livelock, PollingWithoutProgress) {
  Settings settings = test_settings();
  settings.livelock_cycles = 100'000;
  const std::string body = with_barrier(
      1, "WAIT:\n  mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;\n  @!%p1 bra WAIT;\n");
  const Report report =
      expect_fault(FaultKind::livelock,
                   {"livelock", "100000 cycles", "BW_SIM_LIVELOCK_CYCLES", "spins; its last test",
                    "mbarrier bar", "pending 1 of 1 arrival", "no thread has ever arrived"},
                   [&] { run_body(body, 32, 1, settings); });
  EXPECT_NE(report.where.find("test.ptx:"), std::string::npos) << report.where;
}

TEST(Deadlock, ArrivalsOfSeveralWarpsAddUp) {
  expect_deadlock(
      with_barrier(9, R"(
  and.b32 %r5, %r0, 31;
  setp.eq.u32 %p4, %r5, 0;
  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar], 2;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra WAIT;
)"),
      96, {"pending 3 of 9 arrivals", "6 arrivals by warps 0-2", "3 arrivals of 9 missing"});
}

/// Each warp has two groups of lanes that wait for each other at different instructions: each is
/// told which lanes it misses.
TEST(Deadlock, EachWarpsMissingLanesAreNamed) {
  expect_deadlock(
      R"(
  and.b32 %r5, %r0, 31;
  setp.ge.u32 %p3, %r0, 32;
  selp.u32 %r6, 8, 16, %p3;
  setp.lt.u32 %p4, %r5, %r6;
  @%p4 bra FIRST;
  bar.warp.sync -1;
FIRST:
  bar.warp.sync -1;
)",
      64,
      {"[1] warp 0", "lanes 0x0000ffff of its warp", "[2] warp 1", "lanes 0x000000ff of its warp"});
}

}  // namespace
}  // namespace bw::sim::test::deadlock_test
