/// \file
/// Shared memory that nothing has written: what is tracked, what is a fault, and what is not.
#include "common/simulator/machine/shared_contents.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::shared_contents_test {
namespace {

TEST(SharedContents, KnowsEachByte) {
  SharedContents contents;
  EXPECT_FALSE(contents.is_tracked());
  contents.reset(1000);
  EXPECT_TRUE(contents.is_tracked());
  EXPECT_FALSE(contents.nearest(500).has_value());
  contents.write(60, 10, {nullptr, 0, 3});
  for (uint32_t offset = 0; offset < 1000; ++offset)
    ASSERT_EQ(contents.is_written(offset, 1), offset >= 60 && offset < 70) << offset;
  EXPECT_TRUE(contents.is_written(60, 10));
  EXPECT_FALSE(contents.is_written(59, 10));
  EXPECT_FALSE(contents.is_written(61, 10));
  const SharedContents::Range missing = contents.first_unwritten(62, 20);
  EXPECT_EQ(missing.first, 70u);
  EXPECT_EQ(missing.last, 81u);
}

TEST(SharedContents, AgreesWithAFlagForEachByte) {
  constexpr uint32_t kBytes = 700;
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    SharedContents contents;
    contents.reset(kBytes);
    std::vector<bool> written(kBytes, false);
    for (int step = 0; step < 20; ++step) {
      const uint32_t offset = random() % kBytes;
      const uint32_t most = std::min(kBytes - offset, step % 2 == 0 ? 16u : 300u);
      const uint32_t bytes = random() % (most + 1);
      contents.write(offset, bytes, {nullptr, 0, static_cast<uint16_t>(step)});
      std::fill_n(written.begin() + offset, bytes, true);
      if (bytes != 0) {
        const auto near = contents.nearest(offset);
        ASSERT_TRUE(near.has_value());
        ASSERT_EQ(near->writer.warp, step);
      }
      for (int question = 0; question < 50; ++question) {
        const uint32_t first = random() % kBytes;
        const uint32_t count = random() % (kBytes - first + 1);
        const bool all = std::find(written.begin() + first, written.begin() + first + count,
                                   false) == written.begin() + first + count;
        ASSERT_EQ(contents.is_written(first, count), all) << first << ", " << count;
      }
    }
  }
}

TEST(SharedContents, FindsTheNearestBytesAndTheirWriter) {
  SharedContents contents;
  contents.reset(2000);
  contents.write(100, 200, {nullptr, 0, 3});
  contents.write(900, 4, {nullptr, 1, 5});
  const auto below = contents.nearest(350);
  ASSERT_TRUE(below.has_value());
  EXPECT_EQ(below->bytes.first, 100u);
  EXPECT_EQ(below->bytes.last, 299u);
  EXPECT_EQ(below->writer.warp, 3);
  const auto above = contents.nearest(700);
  ASSERT_TRUE(above.has_value());
  EXPECT_EQ(above->bytes.first, 900u);
  EXPECT_EQ(above->bytes.last, 903u);
  EXPECT_EQ(above->writer.cta_rank, 1);
}

/// Thread t (of 32) has its number in %t, an address of its own in `out` in %out, and a tile of 64
/// words at %tile of which the first 32 are written; `body` leaves its result in %v.
Report run_tile(const std::string& body, bool faults, const Settings& settings = test_settings()) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>(64));
  const std::string text = entry(".param .u64 out", R"(
  .reg .pred %p;
  .reg .b32 %t, %tile, %own, %v, %w, %x, %y;
  .reg .b64 %out;
  .shared .align 16 .b8 tile[256];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %tile, tile;
  mad.lo.u32 %own, %t, 4, %tile;
  mov.u32 %v, 0;
  st.shared.u32 [%own], %t;
  bar.warp.sync 0xffffffff;
)" + body + "  st.global.u32 [%out], %v;\n  ret;\n");
  if (faults)
    return expect_fault(FaultCode::shared_never_written, {},
                        [&] { runner.run(text, threads(32), out); });
  EXPECT_NO_THROW(runner.run(text, threads(32), out)) << body;
  return {.code = FaultCode::shared_never_written};
}

TEST(SharedNeverWritten, UsingWhatWasLoadedIsTheFault) {
  const std::string load = "  ld.shared.u32 %w, [%own+64];\n";
  run_tile(load, false);  // half of the lanes read unwritten bytes, and nothing uses them
  const Report report = run_tile(load + "  add.u32 %v, %v, %w;\n", true);
  EXPECT_NE(report.what.find("4 bytes"), std::string::npos) << report.what;
  EXPECT_NE(report.what.find("tile+128"), std::string::npos) << report.what;
  // The load, and the writer of the adjacent bytes.
  ASSERT_EQ(report.places.size(), 3u) << report.format();
  EXPECT_EQ(report.places[1].opcode, "ld.shared.u32");
  EXPECT_EQ(report.places[2].opcode, "st.shared.u32");
  EXPECT_EQ(report.places[0].lanes, 0xffff0000u);
  EXPECT_TRUE(report.hardware_accepts);
}

TEST(SharedNeverWritten, AStoreAfterTheLoadIsTooLate) {
  const Report report = run_tile(
      "  ld.shared.u32 %w, [%own+128];\n  st.shared.u32 [%own+128], %t;\n"
      "  add.u32 %v, %v, %w;\n",
      true);
  EXPECT_NE(report.what.find("4 bytes of shared memory that nothing had written"),
            std::string::npos)
      << report.what;
  const std::string text = report.format();
  EXPECT_NE(text.find("they have been written since the load"), std::string::npos) << text;
  EXPECT_EQ(text.find("nearest bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("before the load, wait"), std::string::npos) << text;
}

TEST(SharedNeverWritten, PaddingOfAVectorThatIsNotUsedIsNoFault) {
  // Of the 16 bytes that are loaded the last 8 were never written.
  const std::string load =
      "  st.shared.v2.u32 [%tile+128], {1, 2};\n  bar.warp.sync 0xffffffff;\n"
      "  ld.shared.v4.u32 {%v, %w, %x, %y}, [%tile+128];\n";
  run_tile(load + "  add.u32 %v, %v, %w;\n", false);
  run_tile(load + "  mov.u32 %v, %x;\n  mov.u32 %v, 0;\n", false);
  run_tile(load + "  add.u32 %v, %v, %x;\n", true);
}

TEST(SharedNeverWritten, ASelectionThatTakesTheOtherOperandIsNoFault) {
  run_tile("  ld.shared.u32 %w, [%own+64];\n  setp.lt.u32 %p, %t, 16;\n  selp.u32 %v, %w, 7, %p;\n",
           false);
  run_tile("  ld.shared.u32 %w, [%own+64];\n  setp.lt.u32 %p, %t, 17;\n  selp.u32 %v, %w, 7, %p;\n",
           true);
}

TEST(SharedNeverWritten, ACopyToAnotherPlaceIsAsUndefinedAsItsSource) {
  const std::string copy = "  ld.shared.u32 %w, [%own+64];\n  st.shared.u32 [%own+128], %w;\n";
  run_tile(copy, false);
  run_tile(copy + "  ld.shared.u32 %v, [%own+128];\n", true);
  run_tile(copy + "  st.shared.u32 [%own+128], 1;\n  ld.shared.u32 %v, [%own+128];\n", false);
  run_tile("  ld.shared.u32 %w, [%own+64];\n  st.shared.u32 [%w], 1;\n", true);
}

TEST(SharedNeverWritten, AnAtomicReadsAsWell) {
  run_tile("  atom.shared.add.u32 %v, [%own], 1;\n", false);
  run_tile("  atom.shared.add.u32 %v, [%own+128], 1;\n", true);
}

TEST(SharedNeverWritten, ACopyOfWhatNothingHasWritten) {
  const auto copy = [](const std::string& bytes) {
    return "  setp.eq.u32 %p, %t, 0;\n  @!%p bra DONE;\n  fence.proxy.async;\n"
           "  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], " +
           bytes +
           ";\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\nDONE:\n"
           "  ld.shared.u32 %v, [%own];\n";
  };
  run_tile(copy("128"), false);
  const Report report = run_tile(copy("144"), true);
  EXPECT_NE(report.what.find("16 bytes"), std::string::npos) << report.what;
}

TEST(SharedNeverWritten, NothingIsTrackedWithoutChecks) {
  Settings settings = test_settings();
  settings.checks = Checks::off;
  run_tile("  ld.shared.u32 %v, [%own+64];\n", false, settings);
}

}  // namespace
}  // namespace bw::sim::test::shared_contents_test
