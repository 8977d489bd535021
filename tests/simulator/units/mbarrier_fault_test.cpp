/// \file
/// Misuse of mbarriers: every fault that the family can raise.
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::mbarrier_fault_test {
namespace {

const std::string kInit = "  mbarrier.init.shared::cta.b64 [%r1], 1;\n";
const std::string kArrive = "  mbarrier.arrive.shared::cta.b64 _, [%r1];\n";

void expect_contract(const std::string& body, const std::vector<std::string>& parts,
                     uint32_t thread_count = 1) {
  const Report report =
      expect_fault(FaultKind::contract, parts, [&] { run_body(body, thread_count, 4); });
  EXPECT_NE(report.where.find("test.ptx:"), std::string::npos) << report.where;
  EXPECT_FALSE(report.rule.empty());
}

TEST(MbarrierFault, NotInitialised) {
  expect_contract(kArrive, {"no mbarrier is initialised at bar", "mbarrier.init"});
  expect_contract("  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n",
                  {"no mbarrier is initialised at bar"});
  expect_contract("  mbarrier.inval.shared::cta.b64 [%r1];\n", {"no mbarrier is initialised"});
  expect_contract("  mbarrier.expect_tx.shared::cta.b64 [%r1+8], 4;\n",
                  {"no mbarrier is initialised at bar+8"});
}

TEST(MbarrierFault, UseAfterInval) {
  expect_contract(
      kInit + "  mbarrier.inval.shared::cta.b64 [%r1];\n" + kArrive,
      {"the mbarrier bar", "has been invalidated by warp 0", "the mbarrier.inval: test.ptx:"});
}

TEST(MbarrierFault, InitOverLiveObject) {
  expect_contract(kInit + kInit, {"holds a live mbarrier", "mbarrier.inval"});
  EXPECT_EQ(run_body(kInit + kInit + kArrive +
                         "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n" +
                         store_predicate("%p1", 0),
                     1, 1, hardware_settings())[0],
            1u);
}

TEST(MbarrierFault, InitCountOutOfRange) {
  expect_contract("  mbarrier.init.shared::cta.b64 [%r1], 0;\n", {"count 0", "1 to 2^20-1"});
  expect_contract("  mbarrier.init.shared::cta.b64 [%r1], 1048576;\n", {"count 1048576"});
  EXPECT_NO_THROW(run_body("  mbarrier.init.shared::cta.b64 [%r1], 1048575;\n", 1, 1));
}

TEST(MbarrierFault, AsynchronousArrivalsBeyondTheCount) {
  expect_contract(
      "  mbarrier.init.shared::cta.b64 [%r1], 1048575;\n"
      "  cp.async.mbarrier.arrive.shared::cta.b64 [%r1];\n",
      {"would rise from 1048575 by 1", "at most 2^20-1"});
}

TEST(MbarrierFault, DropOfMoreThanLaterPhasesExpect) {
  // The copy is in flight, so its arrival still counts as pending: 2 of an expected 1.
  expect_contract(kInit +
                      "  .reg .b64 %global;\n  ld.param.u64 %global, [out];\n"
                      "  cp.async.ca.shared.global [bar+8], [%global], 4;\n"
                      "  cp.async.mbarrier.arrive.shared::cta.b64 [%r1];\n"
                      "  mbarrier.arrive_drop.shared::cta.b64 _, [%r1], 2;\n",
                  {"arrive_drop of 2", "expect only 1 arrival", "drop each participant once"});
}

TEST(MbarrierFault, Misaligned) {
  expect_contract("  mbarrier.init.shared::cta.b64 [%r1+4], 1;\n", {"misaligned", "8"});
}

TEST(MbarrierFault, MoreArrivalsThanExpected) {
  // 32 lanes where one elected lane is meant.
  expect_contract(
      "  setp.eq.u32 %p2, %r0, 0;\n  @%p2 mbarrier.init.shared::cta.b64 [%r1], 1;\n"
      "  bar.sync 0;\n" +
          kArrive,
      {"32 arrivals", "expects only 1 more", "pending 1 of 1"}, 32);
  expect_contract(
      "  mbarrier.init.shared::cta.b64 [%r1], 2;\n"
      "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1], 3;\n",
      {"3 arrivals", "expects only 2 more"});
  // An arrival too many while the phase is held open by its bytes.
  expect_contract(kInit + "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n" + kArrive,
                  {"1 arrival on", "expects only 0 more", "tx-count 16"});
}

TEST(MbarrierFault, RemoteArrivesOfAWarpTakeTheSameTimeAtBothLevels) {
  const std::string text = synchronisation_kernel(
      "  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 mbarrier.init.shared::cta.b64 [%r1], 64;\n"
      "  fence.mbarrier_init.release.cluster;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
      "  mapa.shared::cluster.u32 %r3, %r1, 0;\n"
      "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n"
      "  setp.ne.u32 %p3, %r2, 0;\n  @%p3 bra END;\n"
      "WAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n  @!%p1 bra WAIT;\n"
      "END:\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n");
  const auto cycles = [&](const Settings& settings) {
    Runner runner(settings);
    auto out = runner.buffer(std::vector<uint32_t>(1));
    return runner.run(text, grid(2, 32, 2), out).cycles;
  };
  EXPECT_EQ(cycles(test_settings()), cycles(hardware_settings()));
}

TEST(MbarrierFault, ArriveCountOfZero) {
  expect_contract(kInit + "  mbarrier.arrive.shared::cta.b64 _, [%r1], 0;\n", {"count 0"});
}

TEST(MbarrierFault, ArriveBeforeAnyWaitHasSeenThePreviousPhase) {
  expect_contract(kInit + kArrive + kArrive,
                  {"before any wait has seen that phase 0 is complete", "Phase of the mbarrier"});
  EXPECT_NO_THROW(run_body(kInit + kArrive + kArrive, 1, 1, hardware_settings()));
}

TEST(MbarrierFault, TransactionCountOutOfRange) {
  expect_contract(kInit + "  mbarrier.expect_tx.shared::cta.b64 [%r1], 1048576;\n",
                  {"tx-count", "to 1048576"});
  expect_contract(kInit +
                      "  mbarrier.complete_tx.shared::cta.b64 [%r1], 1048575;\n"
                      "  mbarrier.complete_tx.shared::cta.b64 [%r1], 1;\n",
                  {"complete_tx of 1 byte", "from -1048575 to -1048576"});
}

TEST(MbarrierFault, NoCompleteThatCompletes) {
  expect_contract(kInit + "  mbarrier.arrive.noComplete.shared::cta.b64 %rd3, [%r1], 1;\n",
                  {".noComplete", "would complete"});
  expect_contract(kInit + "  mbarrier.arrive_drop.noComplete.shared::cta.b64 %rd3, [%r1], 1;\n",
                  {".noComplete", "would complete"});
}

TEST(MbarrierFault, DropBelowZero) {
  // The phase still waits for one arrival, but later phases expect none any more.
  expect_contract(
      "  mbarrier.init.shared::cta.b64 [%r1], 2;\n"
      "  mbarrier.arrive_drop.shared::cta.b64 _, [%r1], 2;\n" +
          kArrive,
      {"expects only 0 more"});
}

TEST(MbarrierFault, OverwrittenByAStore) {
  expect_contract(kInit + "  mov.u64 %rd2, 5;\n  st.shared.u64 [%r1], %rd2;\n" + kArrive,
                  {"mbarrier at bar is corrupted", "0x0000000000000005"});
}

TEST(MbarrierFault, HalfOverwrittenByAStore) {
  // The other half still says "an mbarrier"; the half that says which is any number.
  for (const char* const value : {"128", "0x7fffffff", "-1"})
    expect_contract(kInit + "  st.shared.u32 [%r1], " + value + ";\n" + kArrive,
                    {"the mbarrier at bar is corrupted"});
}

TEST(MbarrierFault, InvalWhileAWarpWaits) {
  expect_contract(
      "  setp.eq.u32 %p2, %r0, 0;\n  @%p2 mbarrier.init.shared::cta.b64 [%r1], 1;\n  bar.sync 0;\n"
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra WAIT;\n"
      "  nanosleep.u32 200;\n"
      "  @%p2 mbarrier.inval.shared::cta.b64 [%r1];\n  bra END;\n"
      "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0, 100000;\nEND:\n",
      {"mbarrier.inval of bar while 1 warp waits"}, 64);
}

TEST(MbarrierFault, ParityOtherThanZeroOrOne) {
  const std::string body = kInit +
                           "  mov.u32 %r5, 2;\n"
                           "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], %r5;\n" +
                           store_predicate("%p1", 0);
  expect_contract(body, {"phase parity 2"});
  EXPECT_EQ(run_body(body, 1, 1, hardware_settings())[0], 0u);
}

TEST(MbarrierFault, StateThatNoArriveReturned) {
  expect_contract(
      kInit + "  mov.u64 %rd3, 1;\n  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3;\n",
      {"not a value that mbarrier.arrive returned"});
  expect_contract("  mov.u64 %rd3, 1;\n  mbarrier.pending_count.b64 %r5, %rd3;\n",
                  {"not a value that mbarrier.arrive returned"});
}

TEST(MbarrierFault, StateOlderThanThePrecedingPhase) {
  const std::string wait = "  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd4;\n";
  expect_contract(kInit +
                      "  mbarrier.arrive.shared::cta.b64 %rd3, [%r1];\n"
                      "  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3;\n"
                      "  mbarrier.arrive.shared::cta.b64 %rd4, [%r1];\n" +
                      wait + "  mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd3;\n",
                  {"state is from phase 0", "barrier is in phase 2"});
}

TEST(MbarrierFault, FormsOutsideTheIsaAreRefused) {
  const auto refused = [](const std::string& instruction) {
    expect_fault(FaultKind::unsupported, {"mbarrier"}, [&] { run_body(instruction, 1, 1); });
  };
  refused("  mbarrier.arrive.acquire.cta.shared::cta.b64 _, [%r1];\n");
  refused("  mbarrier.arrive.release.shared::cta.b64 _, [%r1];\n");
  refused("  mbarrier.arrive.release.gpu.shared::cta.b64 _, [%r1];\n");
  refused("  mbarrier.test_wait.parity.shared::cluster.b64 %p1, [%r1], 0;\n");
  refused("  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0, 100;\n");
  refused("  mbarrier.init.shared::cluster.b64 [%r1], 1;\n");
  refused("  mbarrier.arrive.noComplete.shared::cluster.b64 _, [%r1], 1;\n");
  refused("  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1];\n");
}

}  // namespace
}  // namespace bw::sim::test::mbarrier_fault_test
