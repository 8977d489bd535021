/// \file
/// mapa, getctarank, griddepcontrol, setmaxnreg and the fences, written from the PTX ISA 9.0.
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::cluster_control_test {
namespace {

using Words = std::vector<uint32_t>;

Words run_cluster(const std::string& body, uint32_t ctas, size_t words) {
  Runner runner;
  auto out = runner.buffer(Words(words, 0xffffffffu));
  runner.run(synchronisation_kernel(body), grid(ctas, 1, ctas), out);
  return out.values();
}

TEST(Mapa, NamesTheSameOffsetInAnotherCta) {
  // Every CTA stores its rank in CTA 2's data, at its own word; CTA 2 copies them out.
  const std::string body =
      "  mapa.shared::cluster.u32 %r5, data, 2;\n"
      "  shl.b32 %r6, %r2, 2;\n  add.u32 %r5, %r5, %r6;\n  add.u32 %r7, %r2, 40;\n"
      "  st.shared::cluster.u32 [%r5], %r7;\n"
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
      "  setp.ne.u32 %p2, %r2, 2;\n  @%p2 ret;\n"
      "  ld.shared.u32 %r8, [data];\n  st.global.u32 [%rd0], %r8;\n"
      "  ld.shared.u32 %r8, [data+4];\n  st.global.u32 [%rd0+4], %r8;\n"
      "  ld.shared.u32 %r8, [data+8];\n  st.global.u32 [%rd0+8], %r8;\n";
  EXPECT_EQ(run_cluster(body, 3, 3), (Words{40, 41, 42}));
}

TEST(Mapa, AllForms) {
  // Ranks of addresses: u32 and u64, shared and generic, of a register and of a symbol with offset.
  const std::string body =
      "  setp.ne.u32 %p2, %r2, 1;\n  @%p2 bra END;\n"
      "  mov.u32 %r9, 3;\n"
      "  mapa.shared::cluster.u32 %r5, %r1, %r9;\n"
      "  getctarank.shared::cluster.u32 %r6, %r5;\n  st.global.u32 [%rd0], %r6;\n"
      "  cvt.u64.u32 %rd5, %r1;\n"
      "  mapa.shared::cluster.u64 %rd6, %rd5, 2;\n"
      "  getctarank.shared::cluster.u64 %r6, %rd6;\n  st.global.u32 [%rd0+4], %r6;\n"
      "  cvta.shared.u64 %rd7, %rd5;\n"
      "  mapa.u64 %rd8, %rd7, 0;\n"
      "  getctarank.u64 %r6, %rd8;\n  st.global.u32 [%rd0+8], %r6;\n"
      "  mapa.shared::cluster.u32 %r7, bar+8, 3;\n  sub.u32 %r7, %r7, %r5;\n"
      "  st.global.u32 [%rd0+12], %r7;\n"
      "END:\n";
  EXPECT_EQ(run_cluster(body, 4, 4), (Words{3, 2, 0, 8}));
}

TEST(Mapa, OwnRankGivesAnAddressThatWorksLocally) {
  const std::string body =
      "  mapa.shared::cluster.u32 %r5, %r1, %r2;\n  mov.u32 %r6, 77;\n"
      "  st.shared::cluster.u32 [%r5], %r6;\n  ld.shared.u32 %r7, [bar];\n"
      "  mul.wide.u32 %rd4, %r2, 4;\n  add.u64 %rd4, %rd0, %rd4;\n  st.global.u32 [%rd4], %r7;\n";
  EXPECT_EQ(run_cluster(body, 2, 2), (Words{77, 77}));
}

TEST(MapaFault, RankOutsideTheCluster) {
  expect_fault(
      FaultKind::contract,
      {"CTA rank 2 in a cluster of 2", "the rank names a CTA of the cluster (PTX ISA, \"mapa\")"},
      [] { run_cluster("  mapa.shared::cluster.u32 %r5, %r1, 2;\n", 2, 1); });
}

TEST(MapaFault, GenericAddressOutsideSharedMemory) {
  expect_fault(FaultKind::contract, {"does not point to shared memory", "mapa"},
               [] { run_cluster("  mapa.u64 %rd5, %rd0, 0;\n", 2, 1); });
  expect_fault(FaultKind::contract, {"does not point to shared memory", "getctarank"},
               [] { run_cluster("  getctarank.u64 %r5, %rd0;\n", 2, 1); });
}

TEST(GridDependency, BothFormsPass) {
  EXPECT_EQ(run_body("  griddepcontrol.wait;\n  mov.u32 %r5, 3;\n  st.global.u32 [%rd0], %r5;\n"
                     "  griddepcontrol.launch_dependents;\n",
                     32, 1),
            (Words{3}));
}

/// The first warpgroup gives registers up after a while; the two others, with `count` each, store
/// whether they have waited for that.
std::string register_exchange(int kept, int count) {
  return "  .reg .pred %q; .reg .u64 %t;\n"
         "  setp.lt.u32 %q, %r0, 128;\n  @!%q bra TAKE;\n"
         "  nanosleep.u32 5000;\n"
         "  setmaxnreg.dec.sync.aligned.u32 " +
         std::to_string(kept) +
         ";\n  bra.uni DONE;\n"
         "TAKE:\n  setmaxnreg.inc.sync.aligned.u32 " +
         std::to_string(count) +
         ";\n"
         "  mov.u64 %t, %globaltimer;\n"
         "  setp.gt.u64 %q, %t, 2500;\n  selp.u32 %r5, 1, 2, %q;\n"
         "  st.global.u32 [%rd0], %r5;\nDONE:\n";
}

TEST(SetMaxRegisters, AnIncreaseWaitsForWhatOthersGiveUp) {
  // 384 threads have 168 each: 40 + 2 * 232 = 3 * 168.
  EXPECT_EQ(run_body(register_exchange(40, 232), 384, 1), (Words{1}));
  EXPECT_EQ(run_body(register_exchange(40, 168), 384, 1), (Words{2}));  // they have as many
}

TEST(SetMaxRegisters, MoreThanWhatOthersGiveUpIsADeadlock) {
  expect_fault(FaultKind::deadlock, {"waits for 240 registers a thread", "setmaxnreg.dec"},
               [] { run_body(register_exchange(40, 240), 384, 1); });
}

TEST(SetMaxRegistersFault, CountOutOfRange) {
  for (const std::string count : {"16", "264", "100"})
    expect_fault(FaultKind::unsupported,
                 {"register count of " + count, "multiple of 8 from 24 to 256"},
                 [&] { run_body("  setmaxnreg.inc.sync.aligned.u32 " + count + ";\n", 128, 1); });
}

TEST(SetMaxRegistersFault, IncreaseThatThePoolCanNeverSatisfy) {
  // 1024 threads of 64 registers are 65536; 256 * 128 + 24 * 896 is less, but with .maxnreg 40 the
  // pool is 40960.
  Runner runner;
  auto out = runner.buffer(Words(1));
  // (That all of them ask and none gives is another matter.)
  expect_fault(FaultKind::deadlock, {"waits for 256 registers a thread"}, [&] {
    runner.run(synchronisation_kernel("  setmaxnreg.inc.sync.aligned.u32 256;\n"), threads(1024),
               out);
  });
  expect_fault(FaultKind::contract, {"setmaxnreg.inc to 256", "40960 registers", "54272"}, [&] {
    runner.run(synchronisation_kernel("  setmaxnreg.inc.sync.aligned.u32 256;\n", ".maxnreg 40"),
               threads(1024), out);
  });
}

TEST(SetMaxRegistersFault, UnderDivergence) {
  expect_fault(FaultKind::contract, {"executed under divergence", "setmaxnreg"}, [] {
    run_body("  setp.lt.u32 %p2, %r0, 16;\n  @%p2 setmaxnreg.dec.sync.aligned.u32 24;\n", 128, 1);
  });
}

TEST(Fence, AllFormsOfTheIsaRun) {
  for (const std::string fence :
       {"fence.cta",
        "fence.cluster",
        "fence.gpu",
        "fence.sys",
        "fence.sc.cta",
        "fence.sc.sys",
        "fence.acq_rel.gpu",
        "fence.acquire.cluster",
        "fence.release.cta",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.mbarrier_init.release.cluster",
        "fence.proxy.alias",
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.proxy.async.shared::cta",
        "fence.proxy.async.shared::cluster",
        "fence.proxy.tensormap::generic.release.gpu",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "membar.proxy.alias",
        "membar.proxy.async",
        "fence.proxy.tensormap::generic.acquire.sys [%rd0], 128"})
    EXPECT_EQ(
        run_body("  " + fence + ";\n  mov.u32 %r5, 3;\n  st.global.u32 [%rd0], %r5;\n", 32, 32)[0],
        3u)
        << fence;
}

TEST(FenceFault, FormsOutsideTheIsaAreRefused) {
  for (const std::string fence :
       {"fence.relaxed.cta", "fence.sc", "fence.proxy.async.local",
        "fence.mbarrier_init.acquire.cluster", "fence.mbarrier_init.release.gpu",
        "fence.proxy.tensormap::generic.acq_rel.gpu", "membar.gpu",
        "fence.acquire.sync_restrict::shared::cta.cluster"})
    expect_fault(FaultKind::unsupported, {fence}, [&] { run_body("  " + fence + ";\n", 32, 1); });
}

TEST(FenceFault, TensorMapAcquireTakes128BytesOfGlobalMemory) {
  expect_fault(FaultKind::unsupported, {"128"}, [] {
    run_body("  fence.proxy.tensormap::generic.acquire.gpu [%rd0], 64;\n", 32, 32);
  });
  expect_fault(FaultKind::contract, {".global state space"}, [] {
    run_body(
        "  cvt.u64.u32 %rd1, %r1;\n  cvta.shared.u64 %rd1, %rd1;\n"
        "  fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n",
        32, 32);
  });
}

}  // namespace
}  // namespace bw::sim::test::cluster_control_test
