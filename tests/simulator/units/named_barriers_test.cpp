/// \file
/// bar and barrier, written from the PTX ISA 9.0 ("bar, barrier").
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::named_barriers_test {
namespace {

using Words = std::vector<uint32_t>;

/// out[thread] = value of a register.
std::string store_per_thread(const std::string& value) {
  return "  mul.wide.u32 %rd4, %r0, 4;\n  add.u64 %rd4, %rd0, %rd4;\n  st.global.u32 [%rd4], " +
         value + ";\n";
}

/// Warp 0 stores 7 to shared memory late, and then executes `producer`; warps from 1 execute
/// `consumer` and read it.
std::string handover(const std::string& producer, const std::string& consumer) {
  return "  mov.u32 %r5, 0;\n  mov.u32 %r6, 7;\n  mov.u32 %r8, 1;\n  mov.u32 %r9, 64;\n"
         "  setp.ge.u32 %p3, %r0, 32;\n"
         "  @%p3 bra CONSUMER;\n"
         "  nanosleep.u32 500;\n"
         "  st.shared.u32 [data], %r6;\n" +
         producer +
         "  bra END;\n"
         "CONSUMER:\n" +
         consumer + "  ld.shared.u32 %r5, [data];\n" + store_per_thread("%r5") + "END:\n";
}

void expect_handover(const std::string& producer, const std::string& consumer,
                     uint32_t thread_count = 64) {
  const Words out = run_body(handover(producer, consumer), thread_count, thread_count);
  for (size_t thread = 32; thread < out.size(); ++thread)
    EXPECT_EQ(out[thread], 7u) << producer << " thread " << thread;
}

TEST(NamedBarrier, SyncFormsWaitForAllParticipants) {
  for (const std::string form :
       {"bar.sync 0;\n", "bar.cta.sync 3;\n", "barrier.sync 15;\n", "barrier.sync.aligned 1, 64;\n",
        "barrier.cta.sync 2, 64;\n", "bar.sync %r8, %r9;\n", "barrier.cta.sync.aligned 0;\n"})
    expect_handover("  " + form, "  " + form);
}

TEST(NamedBarrier, ArriveDoesNotWaitAndSyncWaitsForIt) {
  expect_handover("  bar.arrive 1, 64;\n", "  bar.sync 1, 64;\n");
  expect_handover("  barrier.arrive 1, 64;\n", "  barrier.sync 1, 64;\n");
  expect_handover("  barrier.cta.arrive.aligned %r8, %r9;\n", "  bar.cta.sync %r8, %r9;\n");
}

TEST(NamedBarrier, ArriveReturnsBeforeTheBarrierCompletes) {
  // Warp 0 arrives and stores; the others' sync comes later and still sees the store only if arrive
  // did not wait for them.
  const std::string body =
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra LATE;\n"
      "  bar.arrive 1, 64;\n  mov.u32 %r6, 9;\n  st.shared.u32 [data], %r6;\n  bra END;\n"
      "LATE:\n  nanosleep.u32 1000;\n  ld.shared.u32 %r5, [data];\n  bar.sync 1, 64;\n"
      "  st.global.u32 [%rd0], %r5;\nEND:\n";
  EXPECT_EQ(run_body(body, 64, 1), (Words{9}));
}

TEST(NamedBarrier, CountedBarrierLeavesOtherWarpsAlone) {
  // Warps 0 and 1 meet at barrier 1 and warps 2 and 3 at barrier 2.
  const std::string body =
      "  mov.u32 %r5, 0;\n  shr.u32 %r7, %r0, 6;\n  add.u32 %r7, %r7, 1;\n"
      "  bar.sync %r7, 64;\n  bar.sync %r7, 64;\n" +
      store_per_thread("%r7");
  const Words out = run_body(body, 128, 128);
  for (size_t thread = 0; thread < 128; ++thread) EXPECT_EQ(out[thread], thread / 64 + 1);
}

/// Warps below `split` run `lower`, the others `upper`.
std::string branches(int split, const std::string& lower, const std::string& upper) {
  return "  shr.u32 %r7, %r0, 5;\n  setp.lt.u32 %p3, %r7, " + std::to_string(split) +
         ";\n  @%p3 bra LOWER;\n" + upper + "  bra END;\nLOWER:\n" + lower + "END:\n";
}

TEST(NamedBarrier, TwoGroupsOfWarpsWithOneNumber) {
  const std::string later = "  nanosleep.u32 3000;\n";
  const auto body = [&](const std::string& between) {
    return branches(2, "  bar.sync 1, 64;\n", later + between + "  bar.sync 1, 64;\n");
  };
  const Report report =
      expect_fault(FaultKind::contract,
                   {"arrives at barrier 1 and has not synchronised with other warps since",
                    "arrived in the previous phase: warp 0 at test.ptx:", "barriers of their own"},
                   [&] { run_body(body(""), 128, 1); });
  EXPECT_EQ(report.code, FaultCode::barrier_shared);
  // What a warp reads by strong operations, and where it waits, may have told it.
  for (const std::string heard :
       {"  ld.volatile.shared.u32 %r5, [data];\n", "  ld.acquire.gpu.global.u32 %r5, [%rd0];\n",
        "  atom.shared.add.u32 %r5, [data], 0;\n", "  bar.sync 2, 64;\n"})
    EXPECT_NO_THROW(
        run_body("  mov.u32 %r5, 0;\n  st.shared.u32 [data], %r5;\n" + body(heard), 128, 1))
        << heard;
  Settings off = test_settings();
  off.checks = Checks::off;
  EXPECT_NO_THROW(run_body(body(""), 128, 1, off));
}

TEST(NamedBarrier, AThirdWarpTakesAnothersPlace) {
  // Warps 0 and 1 are meant to meet; warp 2 completes the phase in the place of warp 1.
  expect_fault(FaultKind::contract, {"warp 1 arrives at barrier 1", "previous phase: warp 2"}, [] {
    run_body(branches(1, "  bar.sync 1, 64;\n",
                      "  setp.eq.u32 %p2, %r7, 1;\n  @%p2 nanosleep.u32 3000;\n"
                      "  bar.arrive 1, 64;\n"),
             96, 1);
  });
}

TEST(NamedBarrier, WhoHasWaitedKnowsThePhase) {
  std::string rounds;
  for (int i = 0; i < 3; ++i) rounds += "  bar.sync 1, 128;\n";
  EXPECT_NO_THROW(run_body(rounds, 128, 1));
  // A producer that only arrives learns of each phase by the other barrier.
  std::string producer, consumer;
  for (int i = 0; i < 3; ++i) {
    producer += "  bar.arrive 1, 64;\n  bar.sync 2, 64;\n";
    consumer += "  bar.sync 1, 64;\n  bar.arrive 2, 64;\n";
  }
  EXPECT_NO_THROW(run_body(branches(1, producer, consumer), 64, 1));
}

TEST(NamedBarrier, ReductionsCombineAllThreads) {
  const std::string body =
      "  setp.lt.u32 %p2, %r0, 40;\n"
      "  bar.red.popc.u32 %r5, 0, %p2;\n"
      "  bar.red.and.pred %p4, 1, %p2;\n"
      "  bar.red.or.pred %p5, 1, 64, %p2;\n"
      "  barrier.cta.red.popc.aligned.u32 %r6, 2, 64, !%p2;\n"
      "  barrier.red.and.pred %p6, 3, 1;\n"
      "  barrier.red.or.aligned.pred %p7, 3, !%p6;\n"
      "  shl.b32 %r6, %r6, 8;\n  add.u32 %r5, %r5, %r6;\n"
      "  selp.u32 %r7, 65536, 0, %p4;\n  add.u32 %r5, %r5, %r7;\n"
      "  selp.u32 %r7, 131072, 0, %p5;\n  add.u32 %r5, %r5, %r7;\n"
      "  selp.u32 %r7, 262144, 0, %p6;\n  add.u32 %r5, %r5, %r7;\n"
      "  selp.u32 %r7, 524288, 0, %p7;\n  add.u32 %r5, %r5, %r7;\n" +
      store_per_thread("%r5");
  const Words out = run_body(body, 64, 64);
  for (const uint32_t word : out) EXPECT_EQ(word, 40u + (24u << 8) + 131072u + 262144u);
}

TEST(NamedBarrier, PopulationCountCountsThreadsOfAPartialWarp) {
  const std::string body =
      "  setp.ge.u32 %p2, %r0, 0;\n  bar.red.popc.u32 %r5, 0, %p2;\n" + store_per_thread("%r5");
  const Words out = run_body(body, 48, 48);
  for (const uint32_t word : out) EXPECT_EQ(word, 48u);
}

TEST(NamedBarrier, DivergedLanesArriveTogetherAsAWarp) {
  // Not aligned: the two halves of warp 0 execute different instructions on one barrier.
  const std::string body =
      "  mov.u32 %r5, 0;\n"
      "  setp.lt.u32 %p2, %r0, 16;\n"
      "  @%p2 bra LOW;\n"
      "  barrier.sync 1;\n"
      "  bra JOIN;\n"
      "LOW:\n"
      "  nanosleep.u32 300;\n  mov.u32 %r6, 5;\n  st.shared.u32 [data], %r6;\n"
      "  barrier.sync 1;\n"
      "JOIN:\n  ld.shared.u32 %r5, [data];\n" +
      store_per_thread("%r5");
  const Words out = run_body(body, 64, 64);
  for (const uint32_t word : out) EXPECT_EQ(word, 5u);
}

TEST(NamedBarrier, ExitedWarpsAreNotWaitedFor) {
  const std::string body =
      "  setp.ge.u32 %p2, %r0, 64;\n  @%p2 bra SLOW;\n"
      "  bar.sync 0;\n  mov.u32 %r5, 1;\n" +
      store_per_thread("%r5") +
      "  ret;\n"
      "SLOW:\n  nanosleep.u32 500;\n";
  const Words out = run_body(body, 128, 128);
  for (size_t thread = 0; thread < 64; ++thread) EXPECT_EQ(out[thread], 1u);
}

TEST(NamedBarrier, ExitedLanesDoNotHoldTheirWarpBack) {
  const std::string body =
      "  and.b32 %r7, %r0, 1;\n  setp.eq.u32 %p2, %r7, 1;\n  @%p2 ret;\n"
      "  bar.sync 0;\n  mov.u32 %r5, 1;\n" +
      store_per_thread("%r5");
  const Words out = run_body(body, 64, 64);
  for (size_t thread = 0; thread < 64; thread += 2) EXPECT_EQ(out[thread], 1u);
}

TEST(NamedBarrier, BarrierIsReusedAtOnce) {
  const std::string body =
      "  mov.u32 %r5, 0;\n  mov.u32 %r6, data;\n  setp.eq.u32 %p2, %r0, 0;\n"
      "  @%p2 st.shared.u32 [%r6], %r5;\n"
      "LOOP:\n  bar.sync 0;\n  ld.shared.u32 %r7, [%r6];\n  bar.sync 0;\n"
      "  add.u32 %r7, %r7, 3;\n  @%p2 st.shared.u32 [%r6], %r7;\n"
      "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %p3, %r5, 10;\n  @%p3 bra LOOP;\n"
      "  bar.sync 0;\n  ld.shared.u32 %r7, [%r6];\n" +
      store_per_thread("%r7");
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (const uint32_t word : run_body(body, 96, 96, test_settings(seed))) EXPECT_EQ(word, 30u);
}

void expect_contract(const std::string& body, const std::vector<std::string>& parts,
                     uint32_t thread_count = 64) {
  expect_fault(FaultKind::contract, parts, [&] { run_body(body, thread_count, thread_count); });
}

TEST(NamedBarrierFault, IdAboveFifteen) {
  expect_contract("  bar.sync 16;\n", {"barrier id 16", "0 to 15"});
}

TEST(NamedBarrierFault, ThreadCountNotOfWholeWarps) {
  expect_contract("  bar.sync 1, 48;\n", {"thread count of 48", "multiple of the warp size"});
  expect_contract("  bar.sync 1, 0;\n", {"thread count of 0"});
  expect_contract("  mov.u32 %r5, 0;\n  bar.arrive 1, %r5;\n", {"thread count of 0"});
}

TEST(NamedBarrierFault, ThreadCountAboveTheCta) {
  expect_contract("  bar.sync 1, 96;\n", {"expects 96 threads", "only 64"});
}

TEST(NamedBarrierFault, DifferentThreadCounts) {
  expect_contract(
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OTHER;\n  bar.sync 1, 64;\n  bra END;\n"
      "OTHER:\n  bar.sync 1, 96;\nEND:\n",
      {"barrier 1 for", "so far expect", "same thread count"}, 96);
  // Barrier 0 for a subset collides with __syncthreads.
  expect_contract(
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OTHER;\n  bar.sync 0, 64;\n  bra END;\n"
      "OTHER:\n  bar.sync 0;\nEND:\n",
      {"barrier 0 for", "__syncthreads", "arrived: warp"}, 96);
}

TEST(NamedBarrier, TheFormAloneDecidesWhetherPartOfAWarpMayCome) {
  const auto by_halves = [](const std::string& form) {
    const std::string barrier = "  " + form + " 1;\n";
    return "  setp.lt.u32 %p2, %r0, 16;\n  @%p2 bra LOW;\n" + barrier + "  bra JOIN;\nLOW:\n" +
           barrier + "JOIN:\n";
  };
  for (const char* const form : {"barrier.sync", "barrier.cta.sync"}) {
    EXPECT_NO_THROW(run_body(by_halves(form), 32, 1)) << form;
    expect_contract(by_halves(std::string(form) + ".aligned"), {"under divergence"});
  }
  expect_contract(by_halves("bar.sync"), {"under divergence"});
}

TEST(NamedBarrierFault, AlignedUnderDivergence) {
  const std::string body = "  setp.lt.u32 %p2, %r0, 16;\n  @%p2 bar.sync 0;\n";
  expect_contract(body, {"executed under divergence", "0xffffffff"}, 32);
  expect_contract("  setp.lt.u32 %p2, %r0, 16;\n  @%p2 barrier.sync.aligned 0;\n",
                  {"executed under divergence"}, 32);
}

TEST(NamedBarrier, HardwareLevelCountsDivergedLanesAsTheyCome) {
  const std::string body =
      "  setp.lt.u32 %p2, %r0, 16;\n  @%p2 bar.sync 0;\n  @!%p2 bar.sync 0;\n  mov.u32 %r5, 1;\n" +
      store_per_thread("%r5");
  // One strand cannot arrive for its other lanes: the first half waits forever.
  expect_fault(FaultKind::deadlock, {"barrier 0"},
               [&] { run_body(body, 32, 32, hardware_settings()); });
  const std::string branches =
      "  setp.lt.u32 %p2, %r0, 16;\n  @%p2 bra LOW;\n  bar.sync 0;\n  bra JOIN;\n"
      "LOW:\n  bar.sync 0;\nJOIN:\n  mov.u32 %r5, 1;\n" +
      store_per_thread("%r5");
  EXPECT_EQ(run_body(branches, 32, 32, hardware_settings()), Words(32, 1));
}

TEST(NamedBarrierFault, SecondArrivalBeforeTheReset) {
  expect_contract(
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra END;\n"
      "  bar.arrive 1, 64;\n  bar.arrive 1, 64;\nEND:\n  nanosleep.u32 100;\n",
      {"warp 0 arrives at barrier 1 a second time", "32 of 64 threads"});
}

TEST(NamedBarrierFault, ReductionMixedWithSync) {
  expect_contract(
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OTHER;\n  bar.sync 1;\n  bra END;\n"
      "OTHER:\n  bar.red.popc.u32 %r5, 1, %p3;\nEND:\n",
      {"reduction", "same phase"});
  expect_contract(
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OTHER;\n  bar.red.or.pred %p4, 1, %p3;\n"
      "  bra END;\nOTHER:\n  bar.red.and.pred %p4, 1, %p3;\nEND:\n",
      {"reduction", "same phase"});
}

TEST(NamedBarrierFault, LanesWithDifferentIds) {
  expect_contract("  and.b32 %r5, %r0, 1;\n  bar.sync %r5;\n", {"different barrier ids: 0 and 1"},
                  32);
}

}  // namespace
}  // namespace bw::sim::test::named_barriers_test
