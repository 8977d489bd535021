/// \file
/// Cluster launch control, written from the PTX ISA 9.0 ("clusterlaunchcontrol").
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::launch_control_test {
namespace {

using Words = std::vector<uint32_t>;

/// A machine of one SM, so that most clusters of a grid wait to be started.
Settings one_sm(uint64_t seed = 0) {
  Settings settings = test_settings(seed);
  settings.sm_count = 1;
  return settings;
}

const std::string kTryCancel =
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 ";

/// One thread a CTA: marks the CTAs it works for in out[ctaid.x], and takes over others until none
/// is left.
std::string stealing_loop(const std::string& coordinate) {
  return "  mov.u32 %r5, %ctaid.x;\n  mov.u32 %r6, 0;\n"
         "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
         "WORK:\n"
         "  mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%r1], 16;\n  " +
         kTryCancel +
         "[data], [%r1];\n"
         "  mul.wide.u32 %rd4, %r5, 4;\n  add.u64 %rd4, %rd0, %rd4;\n"
         "  ld.global.u32 %r7, [%rd4];\n  add.u32 %r7, %r7, 1;\n  st.global.u32 [%rd4], %r7;\n"
         "WAIT:\n"
         "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], %r6;\n"
         "  @!%p1 bra WAIT;\n"
         "  xor.b32 %r6, %r6, 1;\n"
         "  ld.shared.b128 %q0, [data];\n"
         "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;\n"
         "  @!%p2 bra END;\n" +
         coordinate +
         "  bra WORK;\n"
         "END:\n";
}

TEST(LaunchControl, EveryCtaIsWorkedForOnce) {
  for (const std::string coordinate :
       {"  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r5, _, _, _}, %q0;\n",
        "  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r5, %q0;\n"}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      Settings settings = one_sm(seed);
      settings.host_threads = 2;  // results do not depend on it
      Runner runner(settings);
      auto out = runner.buffer(Words(100, 0));
      runner.run(synchronisation_kernel(stealing_loop(coordinate)), grid(100, 1), out);
      EXPECT_EQ(out.values(), Words(100, 1));
    }
  }
}

TEST(LaunchControl, RequestsMayFailWhileClustersArePending) {
  for (const uint8_t fails : {1, 2, 7}) {
    Settings settings = one_sm();
    settings.cancel_fails = fails;
    Runner runner(settings);
    auto out = runner.buffer(Words(100, 0));
    runner.run(synchronisation_kernel(stealing_loop(
                   "  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r5, %q0;\n")),
               grid(100, 1), out);
    EXPECT_EQ(out.values(), Words(100, 1)) << "those that were not taken over are launched";
  }
}

TEST(LaunchControl, CoordinatesAreThoseOfTheFirstCta) {
  // A 2 x 40 x 3 grid: each thief marks (x, y, z) of what it took.
  const std::string body =
      "  mov.u32 %r5, %ctaid.x;\n  mov.u32 %r8, %ctaid.y;\n  mov.u32 %r9, %ctaid.z;\n  mov.u32 "
      "%r6, 0;\n"
      "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
      "WORK:\n"
      "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n  " +
      kTryCancel +
      "[data+16], [%r1];\n"
      "  mad.lo.u32 %r10, %r9, 40, %r8;\n  mad.lo.u32 %r10, %r10, 2, %r5;\n"
      "  mul.wide.u32 %rd4, %r10, 4;\n  add.u64 %rd4, %rd0, %rd4;\n"
      "  ld.global.u32 %r7, [%rd4];\n  add.u32 %r7, %r7, 1;\n  st.global.u32 [%rd4], %r7;\n"
      "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r6;\n  @!%p1 bra WAIT;\n"
      "  xor.b32 %r6, %r6, 1;\n  ld.shared.b128 %q0, [data+16];\n"
      "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;\n  @!%p2 bra END;\n"
      "  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r5, %r8, _, _}, %q0;\n"
      "  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r11, %q0;\n"
      "  clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r9, %q0;\n"
      "  setp.ne.u32 %p3, %r11, %r8;\n  @%p3 trap;\n"
      "  bra WORK;\nEND:\n";
  Runner runner(one_sm());
  auto out = runner.buffer(Words(240, 0));
  LaunchConfiguration configuration = threads(1);
  configuration.grid = {2, 40, 3};
  runner.run(synchronisation_kernel(body), configuration, out);
  EXPECT_EQ(out.values(), Words(240, 1));
}

TEST(LaunchControl, MulticastTellsEveryCtaOfTheCluster) {
  // Clusters of 2 on a machine of 2 SMs: rank 0 asks, both CTAs learn the same first CTA.
  const std::string body =
      "  mov.u32 %r5, %ctaid.x;\n  mov.u32 %r6, 0;\n"
      "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
      "WORK:\n"
      "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
      "  setp.eq.u32 %p3, %r2, 0;\n"
      "  @%p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
      ".multicast::cluster::all.b128 [data], [%r1];\n"
      "  mul.wide.u32 %rd4, %r5, 4;\n  add.u64 %rd4, %rd0, %rd4;\n"
      "  ld.global.u32 %r7, [%rd4];\n  add.u32 %r7, %r7, 1;\n  st.global.u32 [%rd4], %r7;\n"
      "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r6;\n  @!%p1 bra WAIT;\n"
      "  xor.b32 %r6, %r6, 1;\n  ld.shared.b128 %q0, [data];\n"
      "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;\n  @!%p2 bra END;\n"
      "  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r5, _, _, _}, %q0;\n"
      "  add.u32 %r5, %r5, %r2;\n"
      "  bra WORK;\nEND:\n";
  Settings settings = test_settings();
  settings.sm_count = 2;
  Runner runner(settings);
  auto out = runner.buffer(Words(200, 0));
  runner.run(synchronisation_kernel(body), grid(200, 1, 2), out);
  EXPECT_EQ(out.values(), Words(200, 1));
}

TEST(LaunchControl, GenericAddresses) {
  const std::string body =
      "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
      "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n"
      "  cvt.u64.u32 %rd5, %r1;\n  cvta.shared.u64 %rd5, %rd5;\n"
      "  mov.u32 %r5, data;\n  cvt.u64.u32 %rd6, %r5;\n  cvta.shared.u64 %rd6, %rd6;\n"
      "  clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd6], [%rd5];\n"
      "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n  @!%p1 bra WAIT;\n"
      "  ld.shared.b128 %q0, [data];\n"
      "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;\n" +
      store_predicate("%p2", 0);
  EXPECT_EQ(run_body(body, 1, 1), (Words{0}));
}

/// One request in a grid of one CTA, which fails; the response is in %q0.
const std::string kFailedRequest =
    "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
    "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n  " +
    kTryCancel +
    "[data], [%r1];\n"
    "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n  @!%p1 bra WAIT;\n"
    "  ld.shared.b128 %q0, [data];\n";

TEST(LaunchControlFault, RequestAfterAnObservedFailure) {
  const std::string again = "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n  " +
                            kTryCancel + "[data], [%r1];\n  nanosleep.u32 2000;\n";
  expect_fault(
      FaultKind::contract, {"try_cancel after this CTA has read that an earlier one failed"}, [&] {
        run_body(kFailedRequest +
                     "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;\n" +
                     again,
                 1, 1);
      });
  // Not observed: legal.
  EXPECT_NO_THROW(run_body(kFailedRequest + again, 1, 1));
}

TEST(LaunchControlFault, CoordinatesOfAFailedRequest) {
  const std::string body =
      kFailedRequest +
      "  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r5, %q0;\n";
  expect_fault(FaultKind::contract, {"get_first_ctaid of a request that failed"},
               [&] { run_body(body, 1, 1); });
  EXPECT_NO_THROW(run_body(body, 1, 1, hardware_settings()));
}

TEST(LaunchControlFault, RegisterWithoutAResponse) {
  expect_fault(FaultKind::contract, {"does not hold a response"}, [] {
    run_body(
        "  mov.b128 %q0, {%rd0, %rd0};\n"
        "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;\n",
        1, 1);
  });
}

TEST(LaunchControlFault, AddressesOutsideTheOwnCta) {
  expect_fault(FaultKind::contract, {"misaligned"}, [] {
    run_body("  mbarrier.init.shared::cta.b64 [%r1], 1;\n  " + kTryCancel + "[data+8], [%r1];\n", 1,
             1);
  });
  expect_fault(FaultKind::contract, {"no mbarrier is initialised"}, [] {
    run_body("  " + kTryCancel + "[data], [%r1];\n  nanosleep.u32 3000;\n", 1, 1);
  });
}

TEST(LaunchControlFault, ResponseForAnExitedCta) {
  expect_fault(FaultKind::contract, {"reaches CTA rank 0", "exited"}, [] {
    run_body("  mbarrier.init.shared::cta.b64 [%r1], 1;\n  " + kTryCancel + "[data], [%r1];\n", 1,
             1);
  });
}

}  // namespace
}  // namespace bw::sim::test::launch_control_test
