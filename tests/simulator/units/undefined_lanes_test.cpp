/// \file
/// Values that a shuffle took from lanes that did not execute it: carried along, and a fault where
/// they are used.
#include "tests/simulator/units/synchronisation.hpp"

namespace bw::sim::test::undefined_lanes_test {
namespace {

using U32 = uint32_t;

/// Lanes 0 to 15 run `body` and store %d; the others store 0. Registers: %t, %d, %r<16>, %f<4>,
/// %p<8>, %l<4> (64 bits), %out (the lane's word).
std::vector<U32> run_half(const std::string& body, Settings settings = test_settings()) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<U32>(32));
  runner.run(
      entry(".param .u64 out",
            ".local .align 4 .b8 depot[16];\n"
            ".reg .pred %p<8>; .reg .b32 %r<16>, %t, %d; .reg .f32 %f<4>; .reg .b64 %out, %l<4>;\n"
            "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;\n"
            "mov.b32 %d, 0; setp.ge.u32 %p7, %t, 16; @%p7 bra DONE;\n" +
                body + "\nDONE: st.global.u32 [%out], %d;\nret;",
            ".shared .align 4 .b8 tile[256];"),
      threads(32), out);
  return out.values();
}

/// %r1 of lane l is l + 8's %t, which does not execute for the lanes 8 to 15.
const std::string kShuffle = "shfl.sync.down.b32 %r1, %t, 8, 31, 0xffff;\n";

/// The fault names the use, the shuffle and a lane that did not take part; at both levels.
void expect_use(const std::string& instruction, const std::string& body) {
  for (const Settings& settings : {test_settings(), hardware_settings()}) {
    const Report report = expect_fault(
        FaultKind::contract,
        {"undefined value", "a shuffle that read lane",
         "the shuffle: test.ptx:", "`shfl.sync.down.b32`", "inactive or not in the membermask"},
        [&] { (void)run_half(body, settings); });
    EXPECT_NE(report.where.find("`" + instruction + "`"), std::string::npos) << report.where;
    EXPECT_FALSE(report.hardware_accepts);
  }
}

TEST(UndefinedLanes, AReductionThatReadsBeyondItsLanesIsRight) {
  // The common idiom: each step adds what a lane further up holds. Lane 0's sum never contains what
  // the upper lanes read from outside.
  std::string body = "add.u32 %d, %t, 1;\n";
  for (const int step : {8, 4, 2, 1})
    body += "shfl.sync.down.b32 %r1, %d, " + std::to_string(step) +
            ", 31, 0xffff; add.u32 %d, %d, %r1;\n";
  body += "setp.ne.u32 %p1, %t, 0; @%p1 mov.b32 %d, 0;\n";
  for (const uint64_t seed : {0, 1})
    EXPECT_EQ(run_half(body, test_settings(seed))[0], 16u * 17 / 2);
}

TEST(UndefinedLanes, EveryUseIsAFault) {
  expect_use("st.global.u32", kShuffle + "st.global.u32 [%out], %r1;");
  expect_use("st.shared.u32", kShuffle + "st.shared.u32 [tile], %r1;");
  expect_use("st.local.u32", kShuffle + "st.local.u32 [depot], %r1;");
  expect_use("atom.global.add.u32", kShuffle + "atom.global.add.u32 %r2, [%out], %r1;");
  expect_use("ld.shared.u32", kShuffle + "ld.shared.u32 %r2, [%r1];");
  expect_use("vote.sync.any.pred",
             kShuffle + "setp.eq.u32 %p1, %r1, 3; vote.sync.any.pred %p2, %p1, 0xffff;");
  expect_use("redux.sync.add.u32", kShuffle + "redux.sync.add.u32 %r2, %r1, 0xffff;");
  expect_use("bra", kShuffle + "setp.eq.u32 %p1, %r1, 3; @%p1 bra DONE;");
  expect_use("mov.b32", kShuffle + "setp.eq.u32 %p1, %r1, 3; @%p1 mov.b32 %d, 1;");
  // Of one lane alone, the first.
  expect_use(
      "mov.b32",
      "setp.eq.u32 %p3, %t, 0; selp.u32 %r3, 20, %t, %p3;\n"
      "shfl.sync.down.b32 %r1, %t, 0, 31, 0xffff; @%p3 shfl.sync.down.b32 %r2, %t, 20, 31, 1;\n"
      "mov.b32 %r1, 5; @%p3 mov.b32 %r1, %r2; setp.eq.u32 %p1, %r1, 3; @%p1 mov.b32 %d, 1;");
  // Which lane a shuffle reads.
  expect_use("shfl.sync.idx.b32", kShuffle + "shfl.sync.idx.b32 %r2, %t, %r1, 31, 0xffff;");
  expect_use("add.cc.u32", kShuffle + "add.cc.u32 %r2, %r1, 1;");
}

TEST(UndefinedLanes, WhatIsComputedFromOneIsUndefinedToo) {
  expect_use("st.global.u32",
             kShuffle +
                 "cvt.rn.f32.u32 %f0, %r1; add.f32 %f1, %f0, %f0; mov.b32 %r2, %f1;\n"
                 "st.global.u32 [%out], %r2;");
  expect_use("st.global.u64",
             kShuffle +
                 "mov.b64 %l0, {%t, %r1}; shl.b64 %l1, %l0, 1;\n"
                 "and.b32 %r3, %t, 0; cvt.u64.u32 %l2, %r3; sub.u64 %out, %out, %l2;\n"
                 "mad.wide.u32 %l3, %t, 4, %out; st.global.u64 [%l3], %l1;");
  // And what a later shuffle takes from it: lanes 8 to 15 hold it, lanes 4 to 7 get it.
  expect_use("st.shared.u32", kShuffle +
                                  "shfl.sync.down.b32 %r2, %r1, 4, 31, 0xffff;\n"
                                  "setp.lt.u32 %p1, %t, 6; @%p1 st.shared.u32 [tile], %r2;");
}

TEST(UndefinedLanes, TheReportNamesTheShuffleThatLeftTheLanesUndefined) {
  // Some lanes get another value afterwards; the rest still hold what the shuffle left.
  expect_use("st.global.u32", kShuffle +
                                  "setp.eq.u32 %p1, %t, 9; @%p1 mov.b32 %r1, 5;\n"
                                  "st.global.u32 [%out], %r1;");
  // Of two shuffles to one register it is the later.
  expect_fault(FaultKind::contract, {"read lane 20", "`shfl.sync.idx.b32`"}, [] {
    (void)run_half(kShuffle +
                   "shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff; st.global.u32 [%out], %r1;");
  });
}

TEST(UndefinedLanes, WhatIsNotTakenIsNotUsed) {
  const std::string in_lanes = "setp.lt.u32 %p1, %t, 8;\n";
  // Selected away, used by the other lanes alone, overwritten, replaced by a shuffle within lanes.
  const auto select = run_half(kShuffle + in_lanes + "selp.u32 %d, %r1, 77, %p1;");
  const auto guarded = run_half(kShuffle + in_lanes + "mov.u32 %d, 77; @%p1 mov.b32 %d, %r1;");
  const auto added = run_half(kShuffle + in_lanes + "mov.u32 %d, 77; @%p1 add.u32 %d, %r1, 0;");
  const auto overwritten =
      run_half(kShuffle + in_lanes + "@!%p1 mov.u32 %r1, 77; mov.b32 %d, %r1;");
  const auto branched =
      run_half(kShuffle + in_lanes + "mov.u32 %d, 77; @!%p1 bra DONE; mov.b32 %d, %r1; bra DONE;");
  for (U32 lane = 0; lane < 16; ++lane) {
    const U32 expected = lane < 8 ? lane + 8 : 77;
    for (const auto& values : {select, guarded, added, overwritten, branched})
      EXPECT_EQ(values[lane], expected) << lane;
  }
}

TEST(UndefinedLanes, ASelectionTakesTheMarkOfWhatItChooses) {
  expect_use("st.global.u32", kShuffle +
                                  "setp.lt.u32 %p1, %t, 9; selp.u32 %d, %r1, 77, %p1;\n"
                                  "st.global.u32 [%out], %d;");
  expect_use("st.global.u32", kShuffle +
                                  "setp.eq.u32 %p1, %r1, 3; selp.u32 %d, 1, 2, %p1;\n"
                                  "st.global.u32 [%out], %d;");
}

TEST(UndefinedLanes, LanesThatCameTogetherFromTwoPathsAreWatchedAlike) {
  // Both halves of the sixteen lanes come to one shuffle at their own time, without meeting before:
  // their guards are not the same.
  expect_use("st.shared.u32",
             "setp.lt.u32 %p1, %t, 8; mov.u32 %r2, 0;\n"
             "AGAIN: @%p1 bra SHUFFLE; nanosleep.u32 100; add.u32 %r2, %r2, 1;\n"
             "setp.lt.u32 %p2, %r2, 3; @%p2 bra AGAIN;\n"
             "SHUFFLE: shfl.sync.down.b32 %r1, %t, 8, 31, 0xffff; st.shared.u32 [tile], %r1;");
}

}  // namespace
}  // namespace bw::sim::test::undefined_lanes_test
