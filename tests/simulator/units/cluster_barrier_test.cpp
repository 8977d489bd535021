/// \file
/// barrier.cluster and remote mbarrier operations, written from the PTX ISA 9.0.
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::cluster_barrier_test {
namespace {

using Words = std::vector<uint32_t>;

Words run_cluster(const std::string& body, uint32_t ctas, uint32_t thread_count, size_t words,
                  Settings settings = test_settings()) {
  Runner runner(settings);
  auto out = runner.buffer(Words(words, 0xffffffffu));
  runner.run(synchronisation_kernel(body), grid(ctas, thread_count, ctas), out);
  return out.values();
}

/// out[rank] = register, by thread 0.
std::string store_per_cta(const std::string& value) {
  return "  setp.eq.u32 %p15, %r0, 0;\n  mul.wide.u32 %rd4, %r2, 4;\n  add.u64 %rd4, %rd0, %rd4;\n"
         "  @%p15 st.global.u32 [%rd4], " +
         value + ";\n";
}

/// Each CTA writes rank + 10 into the next CTA's `data`, crosses the barrier and reads its own.
std::string exchange(const std::string& arrive, const std::string& wait) {
  return "  mov.u32 %r20, %cluster_nctarank;\n  add.u32 %r21, %r2, 1;\n  rem.u32 %r21, %r21, "
         "%r20;\n"
         "  mov.u32 %r22, data;\n  mapa.shared::cluster.u32 %r23, %r22, %r21;\n"
         "  add.u32 %r24, %r2, 10;\n"
         "  mul.lo.u32 %r25, %r2, 300;\n  nanosleep.u32 %r25;\n"
         "  st.shared::cluster.u32 [%r23], %r24;\n" +
         arrive + wait + "  ld.shared.u32 %r26, [data];\n" + store_per_cta("%r26") +
         "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
}

TEST(ClusterBarrier, AllFormsWaitForEveryCta) {
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"barrier.cluster.arrive;\n", "barrier.cluster.wait;\n"},
      {"barrier.cluster.arrive.aligned;\n", "barrier.cluster.wait.aligned;\n"},
      {"barrier.cluster.arrive.release;\n", "barrier.cluster.wait.acquire;\n"},
      {"barrier.cluster.arrive.release.aligned;\n", "barrier.cluster.wait.acquire.aligned;\n"},
      {"fence.acq_rel.cluster;\n  barrier.cluster.arrive.relaxed;\n", "barrier.cluster.wait;\n"},
      {"barrier.cluster.arrive.relaxed.aligned;\n", "barrier.cluster.wait.acquire;\n"},
  };
  for (const auto& [arrive, wait] : forms)
    EXPECT_EQ(run_cluster(exchange("  " + arrive, "  " + wait), 4, 64, 4), (Words{13, 10, 11, 12}))
        << arrive;
}

TEST(ClusterBarrier, ResultsDoNotDependOnTheSeed) {
  for (uint64_t seed = 1; seed < 5; ++seed)
    EXPECT_EQ(run_cluster(exchange("  barrier.cluster.arrive;\n", "  barrier.cluster.wait;\n"), 4,
                          64, 4, test_settings(seed)),
              (Words{13, 10, 11, 12}));
}

TEST(ClusterBarrier, ExitedThreadsCountAsArrived) {
  // Only warp 0 of each CTA takes part; warp 1 exits at once in rank 0 and late in rank 1.
  const std::string body =
      "  setp.ge.u32 %p3, %r0, 32;\n  @%p3 bra OUT;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  mov.u32 %r5, 1;\n" +
      store_per_cta("%r5") + "  ret;\nOUT:\n  mul.lo.u32 %r6, %r2, 1000;\n  nanosleep.u32 %r6;\n";
  EXPECT_EQ(run_cluster(body, 2, 64, 2), (Words{1, 1}));
}

TEST(ClusterBarrier, ThreadsMayExitAfterTheirArrive) {
  const std::string body =
      "  barrier.cluster.arrive;\n  setp.eq.u32 %p3, %r2, 1;\n  @%p3 ret;\n"
      "  barrier.cluster.wait;\n  mov.u32 %r5, 1;\n" +
      store_per_cta("%r5");
  EXPECT_EQ(run_cluster(body, 2, 32, 2)[0], 1u);
}

TEST(ClusterBarrier, WorksWithoutACluster) {
  const std::string body =
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  mov.u32 %r5, 1;\n" +
      store_per_cta("%r5");
  EXPECT_EQ(run_cluster(body, 1, 64, 1), (Words{1}));
}

TEST(ClusterBarrierFault, ArriveTwice) {
  expect_fault(FaultKind::contract, {"arrives at the cluster barrier again", "phase 0"}, [] {
    run_cluster("  barrier.cluster.arrive;\n  barrier.cluster.arrive;\n", 2, 32, 2);
  });
}

TEST(ClusterBarrierFault, WaitWithoutArrive) {
  expect_fault(FaultKind::contract, {"without having arrived"},
               [] { run_cluster("  barrier.cluster.wait;\n", 2, 32, 2); });
}

TEST(ClusterBarrierFault, AlignedUnderDivergence) {
  expect_fault(FaultKind::contract, {"executed under divergence"}, [] {
    run_cluster("  setp.lt.u32 %p2, %r0, 16;\n  @%p2 barrier.cluster.arrive.aligned;\n", 2, 32, 2);
  });
}

// Remote mbarrier operations.

const std::string kInitAndSync =
    "  setp.eq.u32 %p2, %r0, 0;\n"
    "  @%p2 mbarrier.init.shared::cta.b64 [%r1], 2;\n"
    "  @%p2 fence.mbarrier_init.release.cluster;\n"
    "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";

TEST(RemoteMbarrier, ArrivesReachTheOtherCta) {
  // Both CTAs arrive on both barriers; each waits on its own.
  const std::string body =
      kInitAndSync +
      "  mapa.shared::cluster.u32 %r20, %r1, 0;\n  mapa.shared::cluster.u32 %r21, %r1, 1;\n"
      "  @%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20];\n"
      "  @%p2 mbarrier.arrive.shared::cluster.b64 _, [%r21], 1;\n"
      "WAIT:\n"
      "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0;\n"
      "  @!%p1 bra WAIT;\n  mov.u32 %r5, 1;\n" +
      store_per_cta("%r5") + "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
  EXPECT_EQ(run_cluster(body, 2, 32, 2), (Words{1, 1}));
}

TEST(RemoteMbarrier, ExpectTxAndArriveKeepTheirOrder) {
  // Rank 1 announces 64 bytes and arrives on rank 0's barrier; were the arrive first, the phase
  // would be complete before the bytes have come.
  const std::string body =
      kInitAndSync +
      "  mapa.shared::cluster.u32 %r20, %r1, 0;\n"
      "  setp.eq.u32 %p3, %r2, 1;\n  and.pred %p3, %p3, %p2;\n"
      "  @%p3 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r20], 64;\n"
      "  @%p3 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r20], 32;\n"
      "  @%p3 mbarrier.arrive_drop.shared::cluster.b64 _, [%r20];\n"
      "  nanosleep.u32 2000;\n"
      "  mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r1], 0;\n"
      "  setp.eq.u32 %p5, %r2, 0;\n  and.pred %p6, %p5, %p2;\n"
      "  @%p6 mbarrier.complete_tx.shared::cta.b64 [%r1], 96;\n"
      "  mbarrier.test_wait.parity.shared::cta.b64 %p7, [%r1], 0;\n"
      "  selp.u32 %r5, 1, 0, %p4;\n  selp.u32 %r6, 2, 0, %p7;\n  add.u32 %r5, %r5, %r6;\n" +
      store_per_cta("%r5") + "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
  for (uint64_t seed = 0; seed < 6; ++seed)
    EXPECT_EQ(run_cluster(body, 2, 32, 2, test_settings(seed))[0], 2u) << "seed " << seed;
}

TEST(RemoteMbarrier, OwnCtaThroughAClusterAddress) {
  const std::string body =
      kInitAndSync +
      "  mapa.shared::cluster.u32 %r20, %r1, %r2;\n"
      "  @%p2 mbarrier.arrive.shared::cluster.b64 _, [%r20], 2;\n  bar.warp.sync 0xffffffff;\n"
      "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r20], 0;\n  selp.u32 %r5, 1, 0, %p1;\n" +
      store_per_cta("%r5");
  EXPECT_EQ(run_cluster(body, 2, 32, 2), (Words{1, 1}));
}

TEST(RemoteMbarrierFault, RemoteArriveReturnsNoState) {
  expect_fault(FaultKind::contract, {"barrier of CTA rank 0", "sink symbol _"}, [] {
    run_cluster(kInitAndSync +
                    "  mapa.shared::cluster.u32 %r20, %r1, 0;\n"
                    "  mbarrier.arrive.shared::cluster.b64 %rd5, [%r20];\n"
                    "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n",
                2, 1, 2);
  });
}

TEST(RemoteMbarrierFault, NoRemoteWait) {
  expect_fault(FaultKind::contract, {"CTA"}, [] {
    run_cluster(kInitAndSync +
                    "  mapa.shared::cluster.u32 %r20, %r1, 1;\n"
                    "  mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r20], 0;\n"
                    "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n",
                2, 1, 2);
  });
  expect_fault(FaultKind::contract, {"a wait on a barrier of CTA rank 1", "rank 0"}, [] {
    run_cluster(kInitAndSync +
                    "  cvt.u64.u32 %rd5, %r1;\n  cvta.shared.u64 %rd5, %rd5;\n"
                    "  mapa.u64 %rd6, %rd5, 1;\n"
                    "  mbarrier.test_wait.parity.b64 %p1, [%rd6], 0;\n"
                    "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n",
                2, 1, 2);
  });
}

TEST(RemoteMbarrierFault, InitAndTryCancelInAnotherCta) {
  const std::string remote =
      "  mov.u32 %r21, data;\n  cvt.u64.u32 %rd5, %r21;\n  cvta.shared.u64 %rd5, %rd5;\n"
      "  mapa.u64 %rd6, %rd5, 1;\n";
  const std::string end = "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
  expect_fault(FaultKind::contract, {"mbarrier is in CTA rank 1", "rank 0"}, [&] {
    run_cluster(kInitAndSync + remote + "  mbarrier.init.b64 [%rd6], 1;\n" + end, 2, 1, 2);
  });
  expect_fault(FaultKind::contract, {"is in CTA rank 1", ".shared::cta window"}, [&] {
    run_cluster(kInitAndSync + remote +
                    "  clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 "
                    "[%rd6], [%rd5];\n" +
                    end,
                2, 1, 2);
  });
}

TEST(RemoteMbarrierFault, ArrivalAtAnExitedCta) {
  // Rank 0 exits while rank 1's arrive is on its way.
  expect_fault(FaultKind::contract, {"CTA rank 0", "had exited", "pitfall 8"}, [] {
    run_cluster(kInitAndSync +
                    "  setp.eq.u32 %p3, %r2, 0;\n  @%p3 bra SHORT;\n"
                    "  mapa.shared::cluster.u32 %r20, %r1, 0;\n"
                    "  mbarrier.arrive.shared::cluster.b64 _, [%r20];\n"
                    "  nanosleep.u32 2000;\n  ret;\n"
                    "SHORT:\n  nanosleep.u32 40;\n",
                2, 1, 2);
  });
}

}  // namespace
}  // namespace bw::sim::test::cluster_barrier_test
