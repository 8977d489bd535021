/// \file
/// st.async and red.async: the value arrives later, in the CTA that the address names, and counts
/// on the mbarrier there (PTX ISA, "st.async", "red.async").
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::async_store_test {
namespace {

/// %r10 and %r11: the tile and the mbarrier of CTA 1.
const std::string kMapToOne =
    "  mapa.shared::cluster.u32 %r10, %r1, 1;\n  mapa.shared::cluster.u32 %r11, %r2, 1;\n"
    "  setp.eq.u32 %p1, %r3, 0;\n  setp.eq.u32 %p2, %r3, 1;\n  and.pred %p3, %p0, %p2;\n";

/// CTA 1 expects `bytes`, CTA 0's 32 threads run `send`, CTA 1 waits and all write their tiles.
std::string exchange(uint32_t bytes, const std::string& send) {
  return kMapToOne + "  @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
         std::to_string(bytes) + ";\n  @!%p1 bra RECEIVE;\n" + send + "  bra END;\nRECEIVE:\n" +
         wait_for_bar() + "END:\n" + write_tile() + cluster_sync();
}

TEST(AsyncStore, WordsArriveWithTheMbarriersCompletion) {
  CopyRun run(2);
  // Lane i sends 1000 + i to word 2i.
  run.run(exchange(128,
                   "  shl.b32 %r12, %r0, 3;\n  add.u32 %r12, %r12, %r10;\n"
                   "  add.u32 %r13, %r0, 1000;\n"
                   "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 "
                   "[%r12], %r13, [%r11];\n"));
  for (uint32_t i = 0; i < kTileWords; ++i) {
    EXPECT_EQ(run.out[i], tile_word(0, i)) << i;
    const bool sent = i < 64 && i % 2 == 0;
    EXPECT_EQ(run.out[kTileWords + i], sent ? 1000 + i / 2 : tile_word(1, i)) << i;
  }
}

TEST(AsyncStore, VectorsWideElementsAndGenericAddresses) {
  CopyRun run(2);
  run.run(exchange(32,
                   "  @!%p0 bra END;\n  mov.u32 %r12, 7;\n"
                   "  mov.b64 %rd10, 0x1122334455667788;\n"
                   "  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r10], "
                   "{%r12, 8, 9, %r3}, [%r11];\n"
                   "  cvt.u64.u32 %rd11, %r10;\n  cvta.shared::cluster.u64 %rd11, %rd11;\n"
                   "  cvt.u64.u32 %rd12, %r11;\n  cvta.shared::cluster.u64 %rd12, %rd12;\n"
                   "  st.async.mbarrier::complete_tx::bytes.v2.s64 [%rd11+16], {%rd10, -1}, "
                   "[%rd12];\n"));
  const uint32_t expected[] = {7, 8, 9, 0, 0x55667788, 0x11223344, ~0u, ~0u, tile_word(1, 8)};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(run.out[kTileWords + i], expected[i]) << i;
}

TEST(AsyncStore, BeforeItsArrivalTheOldValueIsRead) {
  CopyRun run(1);
  run.run(
      "  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 4;\n"
      "  @%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], 5, [%r2];\n"
      "  ld.shared.u32 %r10, [%r1];\n" +
      wait_for_bar() +
      "  ld.shared.u32 %r11, [%r1];\n  @%p0 st.global.v2.u32 [%rd2], {%r10, %r11};\n");
  EXPECT_EQ(run.out[0], tile_word(0, 0));
  EXPECT_EQ(run.out[1], 5u);
}

struct ReductionCase {
  std::string form, value;
  uint32_t expected;  ///< of 32 lanes on the word that starts as tile_word(1, 0), 0x2000000
};

TEST(AsyncStore, Reductions) {
  const ReductionCase cases[] = {{"add.u32", "%r0", 0x2000000 + 31 * 16},
                                 {"add.s32", "-1", 0x2000000 - 32},
                                 {"min.u32", "%r0", 0},
                                 {"max.u32", "0x3000000", 0x3000000},
                                 {"min.s32", "-5", static_cast<uint32_t>(-5)},
                                 {"max.s32", "-5", 0x2000000},
                                 {"and.b32", "0xff", 0},
                                 {"or.b32", "%r0", 0x2000000 | 31},
                                 {"xor.b32", "1", 0x2000000},
                                 {"inc.u32", "0x2000005", 26},
                                 {"dec.u32", "0x7000000", 0x2000000 - 32},
                                 {"add.u64", "%rd10", 0x2000000 + 64}};
  for (const ReductionCase& c : cases) {
    CopyRun run(2);
    const bool wide = c.form == "add.u64";
    run.run(exchange(wide ? 256 : 128,
                     "  mov.b64 %rd10, 2;\n  red.async.relaxed.cluster.shared::cluster"
                     ".mbarrier::complete_tx::bytes." +
                         c.form + " [%r10], " + c.value + ", [%r11];\n"));
    EXPECT_EQ(run.out[kTileWords], c.expected) << c.form;
    EXPECT_EQ(run.out[kTileWords + 1], tile_word(1, 1)) << c.form;
  }
}

TEST(AsyncStore, GlobalMemory) {
  CopyRun run(2);
  run.run(
      "  mul.wide.u32 %rd10, %r0, 4;\n  add.u64 %rd10, %rd10, %rd2;\n"
      "  setp.eq.u32 %p1, %r3, 0;\n"
      "  @%p1 st.async.release.gpu.global.u32 [%rd10], %r0;\n" +
      std::string("  red.async.release.gpu.global.add.u32 [%rd2+512], %r0;\n"
                  "  red.async.release.sys.add.s64 [%rd2+1024], 1;\n"));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.out[i], i);
  EXPECT_EQ(run.out[128], kUntouched + 2 * 31 * 16);
  EXPECT_EQ(run.out[256], kUntouched + 64);
}

TEST(AsyncStore, Faults) {
  const auto one = [](const std::string& operands) {
    return kMapToOne + "  @%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 " +
           operands + ";\n" + cluster_sync();
  };
  expect_copy_fault(
      {"the data goes to CTA rank 1, the mbarrier is in CTA rank 0", "(PTX ISA, \"st.async\")"},
      one("[%r10], 1, [%r2]"), nullptr, 2);
  expect_copy_fault({"misaligned"}, one("[%r10+2], 1, [%r11]"), nullptr, 2);
  expect_copy_fault({"is not in shared memory", "st.async"},
                    "  @%p0 st.async.mbarrier::complete_tx::bytes.u32 [%rd2], 1, [%r2];\n");
  expect_copy_fault({"is not in global memory"},
                    "  cvt.u64.u32 %rd10, %r1;\n  @%p0 st.async.release.gpu.u32 [%rd10], 1;\n");
}

TEST(AsyncStore, RefusedFormsSayWhy) {
  for (const char* form : {"min.s64", "and.u32"})
    expect_fault(FaultKind::unsupported, {form, "does not define"}, [&] {
      CopyRun run(1);
      run.run(std::string("  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                          "bytes.") +
              form +
              (std::string(form) == "min.s64" ? " [%r1], %rd2, [%r2];\n" : " [%r1], 1, [%r2];\n"));
    });
}

TEST(BulkZero, FillsARegionOfSharedMemory) {
  CopyRun run;
  run.run(
      "  mov.b64 %rd10, 24;\n  @%p0 st.bulk.weak.shared::cta [%r1+8], %rd10, 0;\n"
      "  bar.sync 0;\n" +
      write_tile());
  for (uint32_t i = 0; i < kTileWords; ++i)
    EXPECT_EQ(run.out[i], i >= 2 && i < 8 ? 0 : tile_word(0, i)) << i;
}

TEST(BulkZero, Faults) {
  expect_copy_fault({"a region of 12 bytes", "(PTX ISA, \"st.bulk\")"},
                    "  @%p0 st.bulk.shared::cta [%r1], 12, 0;\n");
  expect_copy_fault({"is not in shared memory"}, "  @%p0 st.bulk [%rd2], 16, 0;\n");
  expect_fault(FaultKind::unsupported, {"fills with another value than 0"}, [] {
    CopyRun run;
    run.run("  st.bulk.shared::cta [%r1], 16, 1;\n");
  });
}

}  // namespace
}  // namespace bw::sim::test::async_store_test
