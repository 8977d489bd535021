/// \file
/// mbarrier semantics, written from the PTX ISA 9.0 ("mbarrier").
#include <numeric>

#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::mbarrier_test {
namespace {

using Words = std::vector<uint32_t>;

/// test_wait.parity of bar[0] into out[index].
std::string test_parity(int parity, int index) {
  return "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], " + std::to_string(parity) +
         ";\n" + store_predicate("%p1", index);
}
std::string init(int count) {
  return "  mbarrier.init.shared::cta.b64 [%r1], " + std::to_string(count) + ";\n";
}
/// Thread 0 (%p2) initialises bar[0]; then all threads go on.
std::string init_by_first_thread(int count) {
  return "  setp.eq.u32 %p2, %r0, 0;\n  @%p2 mbarrier.init.shared::cta.b64 [%r1], " +
         std::to_string(count) + ";\n  bar.sync 0;\n";
}
/// out[thread] = a register.
std::string store_by_thread(const std::string& value) {
  return "  mul.wide.u32 %rd4, %r0, 4;\n  add.u64 %rd4, %rd0, %rd4;\n  st.global.u32 [%rd4], " +
         value + ";\n";
}
const std::string kArrive = "  mbarrier.arrive.shared::cta.b64 _, [%r1];\n";

TEST(Mbarrier, FreshBarrierHasCompletedThePhaseOfParityOne) {
  EXPECT_EQ(run_body(init(1) + test_parity(1, 0) + test_parity(0, 1), 1, 2), (Words{1, 0}));
}

TEST(Mbarrier, PhaseCompletesWithTheExpectedArrivalsAndStartsAgain) {
  const std::string body = init(2) + kArrive + test_parity(0, 0) + kArrive + test_parity(0, 1) +
                           test_parity(1, 2) + kArrive + test_parity(1, 3) + kArrive +
                           test_parity(1, 4) + test_parity(0, 5);
  EXPECT_EQ(run_body(body, 1, 6), (Words{0, 1, 0, 0, 1, 0}));
}

TEST(Mbarrier, CountOperandArrivesSeveralTimes) {
  const std::string body = init(5) +
                           "  mov.u32 %r5, 3;\n"
                           "  mbarrier.arrive.shared::cta.b64 _, [%r1], 2;\n" +
                           test_parity(0, 0) +
                           "  mbarrier.arrive.shared::cta.b64 _, [%r1], %r5;\n" + test_parity(0, 1);
  EXPECT_EQ(run_body(body, 1, 2), (Words{0, 1}));
}

TEST(Mbarrier, TransactionsHoldThePhaseOpen) {
  const std::string body =
      init(1) + "  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;\n" + kArrive +
      test_parity(0, 0) + "  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 48;\n" +
      test_parity(0, 1) + "  mbarrier.complete_tx.shared::cta.b64 [%r1], 16;\n" + test_parity(0, 2);
  EXPECT_EQ(run_body(body, 1, 3), (Words{0, 0, 1}));
}

TEST(Mbarrier, TransactionsMayCompleteBeforeTheyAreExpected) {
  const std::string body =
      init(1) + "  mbarrier.complete_tx.shared::cta.b64 [%r1], 32;\n" + test_parity(0, 0) +
      "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32;\n" + test_parity(0, 1);
  EXPECT_EQ(run_body(body, 1, 2), (Words{0, 1}));
}

TEST(Mbarrier, ExpectTxCanCompleteAPhaseWhoseArrivalsAreThere) {
  const std::string body = init(1) + "  mbarrier.complete_tx.shared::cta.b64 [%r1], 32;\n" +
                           kArrive + test_parity(0, 0) +
                           "  mbarrier.expect_tx.shared::cta.b64 [%r1], 32;\n" + test_parity(0, 1);
  EXPECT_EQ(run_body(body, 1, 2), (Words{0, 1}));
}

TEST(Mbarrier, ArriveExpectTxWaitsForItsBytes) {
  const std::string body =
      init(1) + "  mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd3, [%r1], 128;\n" +
      test_parity(0, 0) + "  mbarrier.complete_tx.shared::cta.b64 [%r1], 128;\n" +
      test_parity(0, 1) + "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 0;\n" +
      test_parity(1, 2);
  EXPECT_EQ(run_body(body, 1, 3), (Words{0, 1, 1}));
}

TEST(Mbarrier, ArriveDropLowersTheCountOfLaterPhases) {
  const std::string body = init(3) + "  mbarrier.arrive_drop.shared::cta.b64 _, [%r1];\n" +
                           kArrive + test_parity(0, 0) + kArrive + test_parity(0, 1) + kArrive +
                           test_parity(1, 2) + kArrive + test_parity(1, 3);
  EXPECT_EQ(run_body(body, 1, 4), (Words{0, 1, 0, 1}));
}

TEST(Mbarrier, ArriveDropWithCountAndWithExpectTx) {
  const std::string body =
      init(4) + "  mbarrier.arrive_drop.release.cluster.shared::cta.b64 %rd3, [%r1], 2;\n" +
      "  mbarrier.arrive_drop.expect_tx.shared::cta.b64 %rd4, [%r1], 8;\n" + kArrive +
      test_parity(0, 0) + "  mbarrier.complete_tx.shared::cta.b64 [%r1], 8;\n" + test_parity(0, 1) +
      kArrive + test_parity(1, 2);
  EXPECT_EQ(run_body(body, 1, 3), (Words{0, 1, 1}));
}

TEST(Mbarrier, ArriveDropNoCompleteKeepsThePhaseOpen) {
  const std::string body =
      init(3) + "  mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 %rd3, [%r1], 2;\n" +
      test_parity(0, 0) + kArrive + test_parity(0, 1) + kArrive + test_parity(1, 2);
  EXPECT_EQ(run_body(body, 1, 3), (Words{0, 1, 1}));
}

TEST(Mbarrier, StateNamesThePhaseOfItsArrive) {
  const std::string body = init(2) +
                           "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1];\n"
                           "  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3;\n" +
                           store_predicate("%p1", 0) +
                           "  mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [bar+8], 1;\n"
                           "  mbarrier.arrive.release.cta.shared.b64 %rd4, [%r1];\n"
                           "  mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [%r1], %rd3;\n" +
                           store_predicate("%p1", 1) +
                           "  mbarrier.test_wait.relaxed.cluster.shared.b64 %p1, [%r1], %rd4;\n" +
                           store_predicate("%p1", 2) +
                           "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1];\n"
                           "  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3;\n" +
                           store_predicate("%p1", 3) +
                           // The state of phase 0 is of the immediately preceding phase now.
                           "  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd4;\n" +
                           store_predicate("%p1", 4);
  EXPECT_EQ(run_body("  mbarrier.init.shared::cta.b64 [bar+8], 7;\n" + body, 1, 5),
            (Words{0, 1, 1, 0, 1}));
}

TEST(Mbarrier, PendingCountIsTheOneBeforeTheArrive) {
  const std::string body = init(4) +
                           "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1], 3;\n"
                           "  mbarrier.pending_count.b64 %r5, %rd3;\n"
                           "  st.global.u32 [%rd0], %r5;\n"
                           "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1];\n"
                           "  mbarrier.pending_count.b64 %r5, %rd3;\n"
                           "  st.global.u32 [%rd0+4], %r5;\n";
  EXPECT_EQ(run_body(body, 1, 2), (Words{4, 1}));
}

TEST(Mbarrier, GenericAddressesNameSharedMemory) {
  const std::string body =
      "  cvt.u64.u32 %rd2, %r1;\n"
      "  cvta.shared.u64 %rd1, %rd2;\n"
      "  mbarrier.init.b64 [%rd1], 1;\n"
      "  mbarrier.expect_tx.relaxed.cta.b64 [%rd1], 4;\n"
      "  mbarrier.complete_tx.b64 [%rd1], 4;\n"
      "  mbarrier.arrive.b64 %rd3, [%rd1];\n"
      "  mbarrier.test_wait.b64 %p1, [%rd1], %rd3;\n" +
      store_predicate("%p1", 0) + "  mbarrier.try_wait.parity.b64 %p1, [%rd1], 0;\n" +
      store_predicate("%p1", 1) + "  mbarrier.inval.b64 [%rd1];\n";
  EXPECT_EQ(run_body(body, 1, 2), (Words{1, 1}));
}

TEST(Mbarrier, MemoryIsFreeForReuseAfterInval) {
  const std::string body = init(2) + kArrive +
                           "  mbarrier.inval.shared::cta.b64 [%r1];\n"
                           "  mov.u64 %rd2, 77;\n  st.shared.u64 [%r1], %rd2;\n" +
                           init(1) + test_parity(1, 0) + test_parity(0, 1) + kArrive +
                           test_parity(0, 2);
  EXPECT_EQ(run_body(body, 1, 3), (Words{1, 0, 1}));
}

TEST(Mbarrier, EveryLaneArrivesOnItsOwn) {
  // 32 lanes on a barrier for 32: each lane's state has its own pending count.
  const std::string body = init_by_first_thread(32) +
                           "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1];\n"
                           "  mbarrier.pending_count.b64 %r5, %rd3;\n"
                           "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n"
                           "  @!%p1 mov.u32 %r5, 99;\n" +
                           store_by_thread("%r5");
  Words expected(32);
  std::iota(expected.rbegin(), expected.rend(), 1u);
  EXPECT_EQ(run_body(body, 32, 32), expected);
}

TEST(Mbarrier, PartialMaskArrivesForItsLanesOnly) {
  const std::string body = init_by_first_thread(20) +
                           "  setp.lt.u32 %p3, %r0, 19;\n"
                           "  @%p3 mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
                           "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n"
                           "  @%p2 mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
                           "  mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r1], 0;\n" +
                           store_predicate("%p1", 0) + store_predicate("%p4", 1);
  EXPECT_EQ(run_body(body, 32, 2), (Words{0, 1}));
}

TEST(Mbarrier, EveryLaneExpectsItsBytes) {
  const std::string body = init_by_first_thread(32) +
                           "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 8;\n"
                           "  @%p2 mbarrier.complete_tx.shared::cta.b64 [%r1], 255;\n" +
                           test_parity(0, 0) +
                           "  @%p2 mbarrier.complete_tx.shared::cta.b64 [%r1], 1;\n" +
                           test_parity(0, 1);
  EXPECT_EQ(run_body(body, 32, 2), (Words{0, 1}));
}

TEST(MbarrierWait, TryWaitSuspendsUntilThePhaseCompletes) {
  // Warp 0 stores long after warp 1 has begun to wait; warp 1 sees the data.
  const std::string body = init_by_first_thread(1) +
                           "  setp.ge.u32 %p3, %r0, 32;\n"
                           "  @%p3 bra WAIT;\n"
                           "  nanosleep.u32 400;\n"
                           "  mov.u32 %r5, 1234;\n"
                           "  @%p2 st.shared.u32 [data], %r5;\n"
                           "  @%p2 mbarrier.arrive.release.cta.shared::cta.b64 _, [%r1];\n"
                           "  bra END;\n"
                           "WAIT:\n"
                           "  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], 0;\n"
                           "  @!%p1 bra WAIT;\n"
                           "  ld.shared.u32 %r6, [data];\n"
                           "  st.global.u32 [%rd0], %r6;\n"
                           "END:\n";
  EXPECT_EQ(run_body(body, 64, 1), (Words{1234}));
}

TEST(MbarrierWait, ElectedLaneSpinsWhileTheOthersWaitToReconverge) {
  const std::string body = init_by_first_thread(1) +
                           "  setp.lt.u32 %p3, %r0, 32;\n"
                           "  @%p3 bra ARRIVE;\n"
                           "  setp.ne.u32 %p4, %r0, 37;\n"
                           "  @%p4 bra JOIN;\n"
                           "SPIN:\n"
                           "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n"
                           "  @!%p1 bra SPIN;\n"
                           "JOIN:\n"
                           "  bar.warp.sync 0xffffffff;\n"
                           "  sub.u32 %r5, %r0, 32;\n"
                           "  mul.wide.u32 %rd4, %r5, 4;\n  add.u64 %rd4, %rd0, %rd4;\n"
                           "  st.global.u32 [%rd4], %r0;\n"
                           "  bra END;\n"
                           "ARRIVE:\n"
                           "  nanosleep.u32 5000;\n"
                           "  @%p2 mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
                           "END:\n";
  Words expected(32);
  std::iota(expected.begin(), expected.end(), 32u);
  EXPECT_EQ(run_body(body, 64, 32), expected);
}

TEST(MbarrierWait, TryWaitReturnsFalseAfterItsTimeLimit) {
  const std::string body = init(1) +
                           "  mov.u64 %rd5, %clock64;\n"
                           "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0, 1000;\n"
                           "  mov.u64 %rd6, %clock64;\n"
                           "  sub.u64 %rd6, %rd6, %rd5;\n"
                           "  cvt.u32.u64 %r5, %rd6;\n"
                           "  st.global.u32 [%rd0+4], %r5;\n" +
                           store_predicate("%p1", 0);
  const Words out = run_body(body, 1, 2);
  EXPECT_EQ(out[0], 0u);
  // 1000 ns at 1.965 GHz, and the instruction's own cost.
  EXPECT_GE(out[1], 1965u);
  EXPECT_LT(out[1], 2100u);
}

TEST(MbarrierWait, LimitOfAWaitThatIsOverDoesNotProlongTheKernel) {
  // A second warp completes the phase after 500 ns; the limits of the waits before are a second.
  const std::string body =
      init_by_first_thread(1) +
      "  setp.ge.u32 %p3, %r0, 32;\n"
      "  @%p3 bra ARRIVE;\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0, 1000000000;\n" +
      store_predicate("%p1", 0) +
      "  bra END;\n"
      "ARRIVE:\n"
      "  nanosleep.u32 500;\n"
      "  setp.eq.u32 %p4, %r0, 32;\n"
      "  @%p4 mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
      "END:\n";
  Runner runner;
  auto out = runner.buffer(Words{0});
  const Cycle cycles = runner.run(synchronisation_kernel(body), threads(64), out).cycles;
  EXPECT_EQ(out[0], 1u);
  EXPECT_GT(cycles, 900u);
  EXPECT_LT(cycles, 10000u) << "the limit counted, though no thread waited any more";
}

TEST(MbarrierWait, TryWaitByStateTakesATimeHint) {
  const std::string body =
      init(2) +
      "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1];\n"
      "  mov.u32 %r5, 50;\n"
      "  mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p1, [%r1], %rd3, %r5;\n" +
      store_predicate("%p1", 0) + kArrive +
      "  mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd3;\n" + store_predicate("%p1", 1);
  EXPECT_EQ(run_body(body, 1, 2), (Words{0, 1}));
}

TEST(MbarrierWait, LanesWithDifferentBarriersGetTheirOwnResults) {
  const std::string body =
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
      "  @%p2 mbarrier.arrive.shared::cta.b64 _, [bar+8];\n"
      "  bar.sync 0;\n"
      "  and.b32 %r5, %r0, 1;\n"
      "  shl.b32 %r5, %r5, 3;\n"
      "  add.u32 %r5, %r1, %r5;\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5], 0;\n"
      "  selp.u32 %r6, 1, 0, %p1;\n" +
      store_by_thread("%r6");
  Words expected(32);
  for (size_t lane = 0; lane < 32; ++lane) expected[lane] = lane % 2;
  EXPECT_EQ(run_body(body, 32, 32), expected);
}

TEST(MbarrierWait, LanesThatTestDifferentBarriersDoNotWait) {
  // No phase ever completes; test_wait answers, try_wait waits for its limit.
  const std::string body =
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
      "  bar.sync 0;\n"
      "  and.b32 %r5, %r0, 1;\n  shl.b32 %r5, %r5, 3;\n  add.u32 %r5, %r1, %r5;\n"
      "  mov.u64 %rd5, %clock64;\n"
      "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r5], 0;\n"
      "  mov.u64 %rd6, %clock64;\n  sub.u64 %rd6, %rd6, %rd5;\n  cvt.u32.u64 %r6, %rd6;\n"
      "  selp.u32 %r6, 0xffff, %r6, %p1;\n" +
      store_by_thread("%r6");
  for (const uint32_t cycles : run_body(body, 32, 32)) EXPECT_LT(cycles, 200u);
}

TEST(MbarrierWait, LanesWithDifferentBarriersSuspendUntilOneCompletes) {
  const std::string body =
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
      "  bar.sync 0;\n"
      "  setp.ge.u32 %p3, %r0, 32;\n"
      "  @%p3 bra ARRIVE;\n"
      "  and.b32 %r5, %r0, 1;\n"
      "  shl.b32 %r5, %r5, 3;\n"
      "  add.u32 %r5, %r1, %r5;\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5], 0, 1000000;\n"
      "  selp.u32 %r6, 1, 0, %p1;\n" +
      store_by_thread("%r6") +
      "  bra END;\n"
      "ARRIVE:\n"
      "  setp.eq.u32 %p4, %r0, 32;\n"
      "  nanosleep.u32 500;\n"
      "  @%p4 mbarrier.arrive.shared::cta.b64 _, [bar+8];\n"
      "END:\n";
  Words expected(32);
  for (size_t lane = 0; lane < 32; ++lane) expected[lane] = lane % 2;
  EXPECT_EQ(run_body(body, 64, 32), expected);
}

TEST(MbarrierWait, ResultsDoNotDependOnTheSeed) {
  // A ring of two stages between two warps, 20 rounds; the consumer adds what the producer stored.
  const std::string body =
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @!%p2 bra READY;\n"
      "  mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "  mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
      "  mbarrier.init.shared::cta.b64 [bar+16], 1;\n"
      "  mbarrier.init.shared::cta.b64 [bar+24], 1;\n"
      "READY:\n"
      "  bar.sync 0;\n"
      "  mov.u32 %r10, 0;\n  mov.u32 %r11, 0;\n"
      "  setp.eq.u32 %p3, %r0, 32;\n"
      "  @%p2 bra PRODUCE;\n"
      "  @%p3 bra CONSUME;\n"
      "  bra END;\n"
      "PRODUCE:\n"  // stage = r10 & 1, lap = r10 >> 1; waits for empty with parity lap ^ 1
      "  and.b32 %r12, %r10, 1;\n  shl.b32 %r13, %r12, 3;\n  add.u32 %r13, %r1, %r13;\n"
      "  shr.u32 %r14, %r10, 1;\n  xor.b32 %r14, %r14, 1;\n  and.b32 %r14, %r14, 1;\n"
      "PWAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r13+16], %r14;\n"
      "  @!%p1 bra PWAIT;\n"
      "  mov.u32 %r15, data;\n  shl.b32 %r16, %r12, 2;\n  add.u32 %r15, %r15, %r16;\n"
      "  st.shared.u32 [%r15], %r10;\n"
      "  mbarrier.arrive.shared::cta.b64 _, [%r13];\n"
      "  add.u32 %r10, %r10, 1;\n"
      "  setp.lt.u32 %p4, %r10, 20;\n  @%p4 bra PRODUCE;\n"
      "  bra END;\n"
      "CONSUME:\n"
      "  and.b32 %r12, %r10, 1;\n  shl.b32 %r13, %r12, 3;\n  add.u32 %r13, %r1, %r13;\n"
      "  shr.u32 %r14, %r10, 1;\n  and.b32 %r14, %r14, 1;\n"
      "CWAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r13], %r14;\n"
      "  @!%p1 bra CWAIT;\n"
      "  mov.u32 %r15, data;\n  shl.b32 %r16, %r12, 2;\n  add.u32 %r15, %r15, %r16;\n"
      "  ld.shared.u32 %r17, [%r15];\n"
      "  mul.lo.u32 %r11, %r11, 3;\n  add.u32 %r11, %r11, %r17;\n"
      "  mbarrier.arrive.shared::cta.b64 _, [%r13+16];\n"
      "  add.u32 %r10, %r10, 1;\n"
      "  setp.lt.u32 %p4, %r10, 20;\n  @%p4 bra CONSUME;\n"
      "  st.global.u32 [%rd0], %r11;\n"
      "END:\n";
  uint32_t expected = 0;
  for (uint32_t k = 0; k < 20; ++k) expected = expected * 3 + k;
  for (uint64_t seed = 0; seed < 6; ++seed)
    EXPECT_EQ(run_body(body, 64, 1, test_settings(seed)), (Words{expected})) << "seed " << seed;
}

}  // namespace
}  // namespace bw::sim::test::mbarrier_test
