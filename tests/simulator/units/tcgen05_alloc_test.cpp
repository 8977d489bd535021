/// \file
/// tcgen05.alloc, dealloc, relinquish_alloc_permit: addresses, blocking, pairs, and every fault.
#include <algorithm>
#include <set>

#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_alloc_test {
namespace {

constexpr char kRegisters[] = R"(
  .reg .pred %p<8>;
  .reg .b32 %t, %warp, %r<16>, %cta;
  .reg .b64 %out, %offset;
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  mov.u32 %cta, %ctaid.x;
  setp.eq.u32 %p0, %warp, 0;
  setp.eq.u32 %p1, %warp, 1;
  ld.param.u64 %out, [out];
  mul.wide.u32 %offset, %cta, 64;
  add.s64 %out, %out, %offset;
)";

std::string alloc(const std::string& slot, int columns, int group = 1) {
  return "  tcgen05.alloc.cta_group::" + std::to_string(group) + ".sync.aligned.shared::cta.b32 [" +
         slot + "], " + std::to_string(columns) + ";\n";
}
std::string dealloc(const std::string& address, int columns, int group = 1) {
  return "  tcgen05.dealloc.cta_group::" + std::to_string(group) + ".sync.aligned.b32 " + address +
         ", " + std::to_string(columns) + ";\n";
}

std::vector<uint32_t> run(const std::string& body, LaunchConfiguration configuration = threads(64),
                          Settings settings = test_settings()) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>(64, 0xffffffffu));
  runner.run(entry(".param .u64 out", kRegisters + body + "  ret;\n",
                   ".shared .align 4 .b32 slot;\n.shared .align 4 .b32 slot2;\n"
                   ".shared .align 4 .b32 slot3;\n"),
             configuration, out);
  return out.values();
}

void expect_contract(const std::vector<std::string>& parts, const std::string& body,
                     LaunchConfiguration configuration = threads(64)) {
  expect_fault(FaultKind::contract, parts, [&] { (void)run(body, configuration); });
}

TEST(Tcgen05Alloc, TakesTheLowestFreeColumns) {
  const auto out =
      run("  @%p1 bra DONE;\n" + alloc("slot", 128) + alloc("slot2", 64) +
          "  ld.shared.b32 %r0, [slot];\n  ld.shared.b32 %r1, [slot2];\n" + dealloc("%r0", 128) +
          alloc("slot3", 32) + "  ld.shared.b32 %r2, [slot3];\n" + alloc("slot", 32) +
          "  ld.shared.b32 %r3, [slot];\n" + dealloc("%r1", 64) + dealloc("%r2", 32) +
          dealloc("%r3", 32) +
          "  st.global.b32 [%out], %r0;\n  st.global.b32 [%out+4], %r1;\n"
          "  st.global.b32 [%out+8], %r2;\n  st.global.b32 [%out+12], %r3;\nDONE:\n");
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[1], 128u);
  EXPECT_EQ(out[2], 0u);
  EXPECT_EQ(out[3], 32u);
}

TEST(Tcgen05Alloc, AcceptsAGenericAddressAndARegisterCount) {
  const auto out = run(
      "  @%p1 bra DONE;\n  .reg .b64 %g;\n  mov.u64 %g, slot;\n  cvta.shared.u64 %g, %g;\n"
      "  mov.u32 %r5, 512;\n  tcgen05.alloc.cta_group::1.sync.aligned.b32 [%g], %r5;\n"
      "  ld.shared.b32 %r0, [slot];\n  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, %r5;\n"
      "  st.global.b32 [%out], %r0;\nDONE:\n");
  EXPECT_EQ(out[0], 0u);
}

TEST(Tcgen05Alloc, BlocksUntilColumnsAreFree) {
  // Warp 0 takes everything; warp 1's allocation waits for the deallocation, 5000 ns later.
  const auto out = run("  .reg .b64 %c<2>;\n  @%p1 bra SECOND;\n" + alloc("slot", 512) +
                       "  bar.sync 0;\n  ld.shared.b32 %r0, [slot];\n  nanosleep.u32 5000;\n"
                       "  mov.u64 %c0, %clock64;\n" +
                       dealloc("%r0", 512) +
                       "  st.global.b64 [%out+16], %c0;\n  bra DONE;\nSECOND:\n  bar.sync 0;\n" +
                       alloc("slot2", 256) +
                       "  mov.u64 %c1, %clock64;\n  ld.shared.b32 %r1, [slot2];\n"
                       "  st.global.b32 [%out], %r1;\n  st.global.b64 [%out+24], %c1;\n" +
                       dealloc("%r1", 256) + "DONE:\n");
  EXPECT_EQ(out[0], 0u);
  const uint64_t freed = out[4] | uint64_t{out[5]} << 32;
  const uint64_t granted = out[6] | uint64_t{out[7]} << 32;
  EXPECT_GE(granted, freed);
}

/// One SM that holds two CTAs of the kernel; warp 0 of each runs `body`, then stores %r0 and %c0,
/// %c1 (times) to its 64 bytes of `out`.
std::vector<uint32_t> run_on_one_sm(const std::string& body, uint32_t ctas) {
  Settings settings = test_settings();
  settings.sm_count = 1;
  return run("  .reg .b64 %c<2>;\n  @%p1 bra DONE;\n" + body +
                 "  st.global.b32 [%out], %r0;\n  st.global.b64 [%out+8], %c0;\n"
                 "  st.global.b64 [%out+16], %c1;\nDONE:\n",
             grid(ctas, 64), settings);
}

TEST(Tcgen05Alloc, CtasOfAnSmShareItsColumns) {
  const auto out = run_on_one_sm(alloc("slot", 256) +
                                     "  mov.u64 %c0, %clock64;\n  ld.shared.b32 %r0, [slot];\n"
                                     "  nanosleep.u32 3000;\n  mov.u64 %c1, %clock64;\n" +
                                     dealloc("%r0", 256),
                                 2);
  // Both fit, so that the second begins where the first ends, and neither waits.
  EXPECT_EQ(std::set<uint32_t>({out[0], out[16]}), std::set<uint32_t>({0, 256}));
  EXPECT_LT(out[2], out[16 + 4]);
  EXPECT_LT(out[16 + 2], out[4]);
}

TEST(Tcgen05Alloc, ACtaWaitsForAnotherOfItsSm) {
  const auto out = run_on_one_sm(alloc("slot", 512) +
                                     "  mov.u64 %c0, %clock64;\n  ld.shared.b32 %r0, [slot];\n"
                                     "  nanosleep.u32 3000;\n  mov.u64 %c1, %clock64;\n" +
                                     dealloc("%r0", 512),
                                 3);
  std::vector<std::pair<uint32_t, uint32_t>> lives;
  for (size_t cta = 0; cta < 3; ++cta) {
    EXPECT_EQ(out[16 * cta], 0u);
    lives.emplace_back(out[16 * cta + 2], out[16 * cta + 4]);
  }
  std::sort(lives.begin(), lives.end());
  for (size_t i = 0; i + 1 < lives.size(); ++i) EXPECT_LE(lives[i].second, lives[i + 1].first);
}

TEST(Tcgen05Alloc, CtasOfAnSmThatWaitForEachOtherAreADeadlock) {
  expect_fault(FaultKind::deadlock,
               {"tcgen05.alloc", "share its 512 columns", "two CTAs wait for each other",
                "are held by this CTA itself, allocated by its warp 0 at test.ptx:",
                "which waits for columns that this one holds", "with one tcgen05.alloc"},
               [] {
                 (void)run_on_one_sm(
                     alloc("slot", 256) + "  nanosleep.u32 3000;\n" + alloc("slot2", 256), 2);
               });
}

TEST(Tcgen05Alloc, WaitingForeverIsADeadlockThatIsReported) {
  const Report report = expect_fault(
      FaultKind::deadlock, {"tcgen05.alloc", "columns 0-511 of the SM are held by this CTA itself"},
      [] {
        (void)run("  @%p1 bra DONE;\n" + alloc("slot", 512) + alloc("slot2", 32) + "DONE:\n");
      });
  EXPECT_EQ(report.format().find("crosswise"), std::string::npos);
}

TEST(Tcgen05Alloc, APairAllocatesTogetherAtTheSameAddress) {
  // The CTAs hold different columns before, so the pair's allocation takes what is free in both.
  const auto out =
      run("  @%p1 bra DONE;\n" + alloc("slot", 64, 2) + "  ld.shared.b32 %r0, [slot];\n" +
              alloc("slot2", 32, 2) + "  ld.shared.b32 %r1, [slot2];\n" + dealloc("%r0", 64, 2) +
              dealloc("%r1", 32, 2) +
              "  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n"
              "  st.global.b32 [%out], %r0;\n  st.global.b32 [%out+4], %r1;\nDONE:\n",
          grid(2, 64, 2));
  for (int cta = 0; cta < 2; ++cta) {
    EXPECT_EQ(out[16 * cta], 0u);
    EXPECT_EQ(out[16 * cta + 1], 64u);
  }
}

TEST(Tcgen05Alloc, ClustersThatWaitForEachOtherAcrossSms) {
  // Two clusters of two CTAs on two SMs. Rank 0 of one and rank 1 of the other take all of their
  // SM first; each cluster then needs the SM that the other has.
  Settings settings = test_settings();
  settings.sm_count = 2;
  const std::string body =
      "  @%p1 bra DONE;\n  shr.u32 %r3, %cta, 1;\n  and.b32 %r4, %cta, 1;\n"
      "  setp.ne.u32 %p2, %r3, %r4;\n  @%p2 nanosleep.u32 3000;\n" +
      alloc("slot", 512) +
      "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n  ld.shared.b32 %r0, [slot];\n" +
      dealloc("%r0", 512) + "DONE:\n";
  expect_fault(FaultKind::deadlock, {"tcgen05.alloc", "two clusters wait for each other"},
               [&] { (void)run(body, grid(4, 64, 2), settings); });
}

TEST(Tcgen05Alloc, APairWaitsForThePeer) {
  expect_fault(FaultKind::deadlock,
               {"tcgen05.alloc", "its peer, CTA rank 1, has not reached its tcgen05.alloc"}, [] {
                 (void)run("  @%p1 bra DONE;\n  setp.ne.u32 %p2, %cta, 0;\n  @%p2 bra WAIT;\n" +
                               alloc("slot", 32, 2) +
                               "WAIT:\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\nDONE:\n",
                           grid(2, 64, 2));
               });
}

TEST(Tcgen05AllocFaults, ColumnCounts) {
  for (const int columns : {0, 16, 33, 96, 1024})
    expect_contract(
        {"allocates " + std::to_string(columns) + " columns", "power of two in 32...512"},
        "  @%p1 bra DONE;\n" + alloc("slot", columns) + "DONE:\n");
}

TEST(Tcgen05AllocFaults, TheAddressGoesToTheOwnCta) {
  expect_contract({"writes its address into another CTA's shared memory"},
                  "  .reg .b64 %g;\n  .reg .b32 %peer;\n  mov.u32 %peer, %cluster_ctarank;\n"
                  "  xor.b32 %peer, %peer, 1;\n"
                  "  mov.u64 %g, slot;\n  cvta.shared.u64 %g, %g;\n"
                  "  mapa.u64 %g, %g, %peer;\n  @%p1 bra DONE;\n"
                  "  tcgen05.alloc.cta_group::1.sync.aligned.b32 [%g], 32;\nDONE:\n"
                  "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n",
                  grid(2, 64, 2));
}

TEST(Tcgen05AllocFaults, LeakAtExit) {
  expect_contract({"CUDA_ERROR_TENSOR_MEMORY_LEAK", "columns 0-63", "warp 0"},
                  "  @%p1 bra DONE;\n" + alloc("slot", 64) + "DONE:\n");
}

TEST(Tcgen05AllocFaults, AllocationAfterRelinquish) {
  expect_contract({"after the CTA has relinquished"},
                  "  @%p1 bra DONE;\n"
                  "  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" +
                      alloc("slot", 32) + "DONE:\n");
}

TEST(Tcgen05AllocFaults, DeallocationOfWhatIsNotAllocated) {
  expect_contract({"deallocation of unallocated columns", "Columns allocated are: none"},
                  "  @%p1 bra DONE;\n  mov.u32 %r0, 0;\n" + dealloc("%r0", 32) + "DONE:\n");
  expect_contract({"deallocation of unallocated columns", "Columns allocated are: 0-63"},
                  "  @%p1 bra DONE;\n" + alloc("slot", 64) + "  mov.u32 %r0, 0;\n" +
                      dealloc("%r0", 32) + "DONE:\n");
  expect_contract({"deallocation of unallocated columns"},
                  "  @%p1 bra DONE;\n" + alloc("slot", 64) + "  mov.u32 %r0, 0;\n" +
                      dealloc("%r0", 64) + dealloc("%r0", 64) + "DONE:\n");
}

TEST(Tcgen05AllocFaults, Divergence) {
  for (const std::string& instruction :
       {alloc("slot", 32), dealloc("%r0", 32),
        std::string("  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n")})
    expect_contract({"under divergence"}, "  setp.eq.u32 %p3, %t, 0;\n  mov.u32 %r0, 0;\n  @%p3 " +
                                              instruction.substr(2));
}

TEST(Tcgen05AllocFaults, TwoKindsOfCtaGroup) {
  expect_contract({"cta_group::2 after cta_group::1"},
                  "  @%p1 bra DONE;\n" + alloc("slot", 32, 1) + "  mov.u32 %r0, 0;\n" +
                      dealloc("%r0", 32, 2) + "DONE:\n",
                  grid(2, 64, 2));
}

TEST(Tcgen05AllocFaults, AGroupOfTwoWithoutAPair) {
  expect_contract({"cta_group::2 needs a CTA pair", "has 1 CTA"},
                  "  @%p1 bra DONE;\n" + alloc("slot", 32, 2) + "DONE:\n");
}

TEST(Tcgen05AllocFaults, PeersThatDisagree) {
  expect_contract({"while the peer CTA allocates"},
                  "  @%p1 bra DONE;\n  shl.b32 %r0, %cta, 5;\n  add.u32 %r0, %r0, 32;\n"
                  "  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], %r0;\nDONE:\n",
                  grid(2, 64, 2));
}

TEST(Tcgen05AllocFaults, RelinquishTwice) {
  const std::string relinquish = "  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";
  expect_contract({"relinquished its permit to allocate before"},
                  "  @%p1 bra DONE;\n" + relinquish + relinquish + "DONE:\n");
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_alloc_test
