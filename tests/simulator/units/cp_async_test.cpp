/// \file
/// Non-bulk cp.async, its groups and its mbarrier completion, from the PTX ISA.
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::cp_async_test {
namespace {

/// Each thread's place in the tile (%r4, 16 bytes apart) and in the input (%rd4).
const std::string kPlaces =
    "  shl.b32 %r5, %r0, 4;\n  add.u32 %r4, %r1, %r5;\n  cvt.u64.u32 %rd5, %r5;\n"
    "  add.u64 %rd4, %rd3, %rd5;\n";
const std::string kWaitAll = "  cp.async.wait_all;\n  bar.sync 0;\n";

TEST(CpAsync, Copies4To16Bytes) {
  for (const uint32_t bytes : {4u, 8u, 16u}) {
    CopyRun run;
    run.run(kPlaces + "  cp.async.ca.shared.global.L2::128B [%r4], [%rd4], " +
            std::to_string(bytes) + ";\n" + kWaitAll + write_tile());
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(run.out[i], i % 4 < bytes / 4 ? i + 1 : tile_word(0, i)) << bytes;
  }
}

TEST(CpAsync, SourceSizeFillsWithZeros) {
  CopyRun run;
  run.run(kPlaces +
          "  and.b32 %r6, %r0, 15;\n"
          "  cp.async.cg.shared::cta.global.L2::cache_hint [%r4], [%rd4], 16, %r6, 0;\n" +
          kWaitAll + write_tile());
  const auto* const bytes = reinterpret_cast<const uint8_t*>(run.out.data());
  const auto* const source = reinterpret_cast<const uint8_t*>(run.in.data());
  for (uint32_t i = 0; i < 512; ++i)
    EXPECT_EQ(bytes[i], i % 16 < (i / 16 & 15) ? source[i] : 0) << i;
}

TEST(CpAsync, IgnoredSourceIsNotRead) {
  CopyRun run;
  run.run(kPlaces +
          "  setp.ge.u32 %p1, %r0, 16;\n  @%p1 mov.u64 %rd4, 0;\n"
          "  cp.async.cg.shared.global [%r4], [%rd4], 16, %p1;\n" +
          kWaitAll + write_tile());
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(run.out[i], i < 64 ? i + 1 : 0u);
}

TEST(CpAsync, WithoutTheWaitTheOldDataIsRead) {
  CopyRun run;
  run.run(kPlaces +
          "  cp.async.ca.shared.global [%r4], [%rd4], 4;\n  ld.shared.u32 %r10, [%r4];\n" +
          kWaitAll + "  @%p0 st.global.u32 [%rd2], %r10;\n");
  EXPECT_EQ(run.out[0], tile_word(0, 0));
}

TEST(CpAsync, WaitGroupWaitsForOlderGroups) {
  CopyRun run;
  run.run(kPlaces +
          "  cp.async.ca.shared.global [%r4], [%rd4], 4;\n  cp.async.commit_group;\n"
          "  cp.async.ca.shared.global [%r4+4], [%rd4+4], 4;\n  cp.async.commit_group;\n"
          "  cp.async.wait_group 1;\n  ld.shared.u32 %r10, [%r4];\n"
          "  cp.async.wait_group 0;\n  ld.shared.u32 %r11, [%r4+4];\n"
          "  @%p0 st.global.v2.u32 [%rd2], {%r10, %r11};\n");
  EXPECT_EQ(run.out[0], 1u);
  EXPECT_EQ(run.out[1], 2u);
}

TEST(CpAsync, ArrivesOnAnMbarrierWhenComplete) {
  // 32 arrivals are expected with .noinc; without it the pending count is raised first, so only the
  // explicit arrival counts.
  for (const bool noinc : {true, false}) {
    CopyRun run;
    const std::string own_barrier =
        "  .shared .align 8 .b64 other;\n  mov.u32 %r2, other;\n"
        "  @%p0 mbarrier.init.shared::cta.b64 [%r2], " +
        std::string(noinc ? "32" : "1") + ";\n  bar.sync 0;\n";
    run.run(
        own_barrier + kPlaces + "  cp.async.ca.shared.global [%r4], [%rd4], 4;\n" +
        (noinc ? "  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];\n"
               : "  cp.async.mbarrier.arrive.shared.b64 [%r2];\n  bar.sync 0;\n"
                 "  @%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];\n") +
        wait_for_bar() +
        "  ld.shared.u32 %r10, [%r4];\n  shl.b32 %r11, %r0, 2;\n"
        "  cvt.u64.u32 %rd6, %r11;\n  add.u64 %rd6, %rd6, %rd2;\n  st.global.u32 [%rd6], %r10;\n");
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.out[i], 4 * i + 1) << noinc;
  }
}

TEST(CpAsyncFault, Operands) {
  expect_copy_fault({"misaligned", "16"},
                    kPlaces + "  cp.async.cg.shared.global [%r4+4], [%rd4], 16;\n");
  expect_copy_fault({"misaligned", "8"},
                    kPlaces + "  cp.async.ca.shared.global [%r4], [%rd4+4], 8;\n");
  expect_copy_fault({"src-size 9 exceeds cp-size 8"},
                    kPlaces +
                        "  mov.u32 %r6, 9;\n"
                        "  cp.async.ca.shared.global [%r4], [%rd4], 8, %r6;\n");
  expect_copy_fault({"out of bounds"}, "  cp.async.ca.shared.global [%r1], [%rd3+16384], 4;\n");
  expect_copy_fault({"out of bounds"}, "  cp.async.ca.shared.global [%r1+16384], [%rd3], 4;\n");
  expect_copy_fault({"mbarrier"}, "  cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];\n");
  expect_copy_fault({"address 0x100000000 is not in shared memory"},
                    "  mov.b64 %rd6, 0x100000000;\n  cp.async.mbarrier.arrive.noinc.b64 [%rd6];\n");
  CopyRun run;
  expect_fault(FaultKind::unsupported, {"cp-size 8", "(PTX ISA, \"cp.async\")"},
               [&] { run.run("  cp.async.cg.shared.global [%r1], [%rd3], 8;\n"); });
}

}  // namespace
}  // namespace bw::sim::test::cp_async_test
