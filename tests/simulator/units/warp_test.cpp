/// \file
/// Warp-level instructions, converged, diverged and with partial masks (PTX ISA, "shfl.sync",
/// "vote.sync", "match.sync", "redux.sync", "elect.sync", "activemask", "bar.warp.sync").
#include <bit>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::warp_test {
namespace {

using U32 = uint32_t;

std::string warp_kernel(const std::string& body) {
  return entry(
      ".param .u64 out",
      ".reg .pred %p<8>; .reg .b32 %r<16>, %t, %d; .reg .f32 %f<4>; .reg .b64 %out, %l<4>;\n"
      "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out; mov.b32 %d, "
      "0;\n" +
          body + "\nst.global.u32 [%out], %d;\nret;");
}

std::vector<U32> run_warp(const std::string& body, U32 count = 32,
                          Settings settings = test_settings()) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<U32>(count));
  runner.run(warp_kernel(body), threads(count), out);
  return out.values();
}

/// The PTX ISA's pseudo code of shfl: the source lane, or its own when out of range.
int shuffle_source(const std::string& mode, int lane, int b, U32 c, bool& in_range) {
  const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31);
  const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  int j = 0;
  if (mode == "up") j = lane - b, in_range = j >= most;
  if (mode == "down") j = lane + b, in_range = j <= most;
  if (mode == "bfly") j = lane ^ b, in_range = j <= most;
  if (mode == "idx") j = least | (b & ~segment), in_range = j <= most;
  return in_range ? j : lane;
}

TEST(Warp, ShuffleModesClampsAndSegments) {
  for (const std::string mode : {"up", "down", "bfly", "idx"})
    for (const U32 c : {0u, 31u, 0x1800u, 0x181fu, 0x1c07u})
      for (const int b : {0, 1, 5, 16, 31}) {
        const auto d =
            run_warp("mul.lo.u32 %r1, %t, 3;\nshfl.sync." + mode + ".b32 %r2|%p1, %r1, " +
                     std::to_string(b) + ", " + std::to_string(c) +
                     ", -1;\nselp.u32 %d, 1000, 0, %p1; add.u32 %d, %d, %r2;");
        for (int lane = 0; lane < 32; ++lane) {
          bool in_range = false;
          const int source = shuffle_source(mode, lane, b, c, in_range);
          ASSERT_EQ(d[static_cast<size_t>(lane)],
                    static_cast<U32>(3 * source) + (in_range ? 1000u : 0u))
              << mode << " lane " << lane << " b " << b << " c " << c;
        }
      }
}

TEST(Warp, ShuffleReadsEveryLaneBeforeItWrites) {
  const auto d = run_warp(
      "mov.u32 %d, %t; shfl.sync.idx.b32 %d, %d, 31, 31, -1;\n"
      "sub.u32 %r1, 31, %t; shfl.sync.idx.b32 %r1, %r1, %r1, 31, -1; add.u32 %d, %d, %r1;");
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(d[lane], 31 + lane);
}

TEST(Warp, Votes) {
  const std::string odd = "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1;\n";
  EXPECT_EQ(run_warp(odd + "vote.sync.ballot.b32 %d, %p1, -1;")[7], 0xaaaaaaaau);
  EXPECT_EQ(run_warp(odd + "vote.sync.ballot.b32 %d, !%p1, -1;")[7], 0x55555555u);
  const auto vote = [&](const std::string& mode, const std::string& predicate) {
    return run_warp(odd + "vote.sync." + mode + ".pred %p2, " + predicate +
                    ", -1; selp.u32 %d, 1, 0, %p2;")[3];
  };
  EXPECT_EQ(vote("any", "%p1"), 1u);
  EXPECT_EQ(vote("all", "%p1"), 0u);
  EXPECT_EQ(vote("uni", "%p1"), 0u);
  EXPECT_EQ(vote("all", "1"), 1u);
  EXPECT_EQ(vote("uni", "0"), 1u);
}

TEST(Warp, Match) {
  const auto any = run_warp("shr.u32 %r1, %t, 3; match.any.sync.b32 %d, %r1, -1;");
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(any[lane], 0xffu << lane / 8 * 8);
  EXPECT_EQ(run_warp("mov.b64 %l1, 77; match.all.sync.b64 %d|%p1, %l1, -1;")[5], ~0u);
  const auto all = run_warp("match.all.sync.b32 %d|%p1, %t, -1; @%p1 mov.u32 %d, 1;");
  EXPECT_EQ(all[5], 0u);
}

TEST(Warp, Reductions) {
  const auto reduce = [](const std::string& form) {
    return run_warp("sub.s32 %r1, %t, 10; redux.sync." + form + " %d, %r1, -1;")[9];
  };
  EXPECT_EQ(reduce("add.s32"), 31u * 16 - 320);
  EXPECT_EQ(reduce("min.s32"), static_cast<U32>(-10));
  EXPECT_EQ(reduce("max.s32"), 21u);
  EXPECT_EQ(reduce("min.u32"), 0u);
  EXPECT_EQ(reduce("max.u32"), ~0u);
  EXPECT_EQ(reduce("and.b32"), 0u);
  EXPECT_EQ(reduce("or.b32"), ~0u);
  EXPECT_EQ(run_warp("redux.sync.xor.b32 %d, %t, -1;")[0], 0u);
  const std::string values =
      "cvt.rn.f32.u32 %f1, %t; sub.f32 %f1, %f1, 20.0; setp.eq.u32 %p1, %t, 3;\n"
      "@%p1 mov.b32 %f1, 0x7fc00000;\n";
  const auto floats = [&](const std::string& form) {
    return run_warp(values + "redux.sync." + form + ".f32 %f2, %f1, -1; mov.b32 %d, %f2;")[0];
  };
  EXPECT_EQ(floats("max"), std::bit_cast<U32>(11.0f));
  EXPECT_EQ(floats("min"), std::bit_cast<U32>(-20.0f));
  EXPECT_EQ(floats("max.abs"), std::bit_cast<U32>(20.0f));
  EXPECT_EQ(floats("min.NaN"), 0x7fffffffu);
}

TEST(Warp, ElectPicksTheLowestLaneOfTheMask) {
  const auto d = run_warp(
      "setp.lt.u32 %p1, %t, 8; @%p1 bra DONE;\n"
      "elect.sync %r1|%p2, 0xffffff00; selp.u32 %d, 100, 0, %p2; add.u32 %d, %d, %r1;\nDONE:");
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(d[lane], lane < 8 ? 0u : lane == 8 ? 108u : 8u);
}

TEST(Warp, ExitedLanesAreNotWaitedFor) {
  Runner runner;
  const auto out = runner.buffer(std::vector<U32>(32));
  runner.run(warp_kernel("setp.ge.u32 %p1, %t, 20; @%p1 exit;\nvote.sync.ballot.b32 %d, 1, -1;"),
             threads(32), out);
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 20 ? 0xfffffu : 0u);
}

TEST(Warp, LanesThatExitLaterReleaseTheWaitingOnes) {
  for (const uint64_t seed : {0, 1, 2, 3}) {
    const auto d = run_warp(
        "setp.ge.u32 %p1, %t, 20; @%p1 bra LATE;\nvote.sync.ballot.b32 %d, 1, -1;\nbra DONE;\n"
        "LATE: nanosleep.u32 1000; exit;\nDONE:",
        32, test_settings(seed));
    for (U32 lane = 0; lane < 20; ++lane) EXPECT_EQ(d[lane], 0xfffffu);
  }
}

TEST(Warp, StrandsMeetAtABarrierInDifferentBranches) {
  // The halves of the warp exchange values through shared memory, in branches of their own.
  Runner runner;
  const auto out = runner.buffer(std::vector<U32>(32));
  runner.run(entry(".param .u64 out",
                   ".shared .align 4 .b8 buffer[128];\n"
                   ".reg .pred %p<4>; .reg .b32 %r<8>, %t, %d; .reg .b64 %out;\n"
                   "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;\n"
                   "mov.u32 %r1, buffer; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2;\n"
                   "xor.b32 %r3, %t, 16; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;\n"
                   "setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;\n"
                   "nanosleep.u32 500; st.shared.u32 [%r2], %t; bar.warp.sync -1; ld.shared.u32 "
                   "%d, [%r3]; bra DONE;\n"
                   "LOW: st.shared.u32 [%r2], %t; bar.warp.sync -1; ld.shared.u32 %d, [%r3];\n"
                   "DONE: st.global.u32 [%out], %d; ret;"),
             threads(32), out);
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane ^ 16);
}

TEST(Warp, DivergedLanesShuffleTogether) {
  // Lanes come to one shuffle at different times: each half spins for another time first.
  const auto d = run_warp(
      "setp.lt.u32 %p1, %t, 16;\n@%p1 bra SHUFFLE;\nnanosleep.u32 2000;\n"
      "SHUFFLE: shfl.sync.bfly.b32 %d, %t, 16, 31, -1;");
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(d[lane], lane ^ 16);
}

TEST(Warp, DisjointMasksInOneInstruction) {
  const auto d = run_warp(
      "setp.lt.u32 %p1, %t, 16; selp.b32 %r1, 0x0000ffff, 0xffff0000, %p1;\n"
      "redux.sync.add.u32 %d, %t, %r1;");
  for (U32 lane = 0; lane < 32; ++lane) EXPECT_EQ(d[lane], lane < 16 ? 120u : 376u);
}

TEST(Warp, ActiveMask) {
  const auto d = run_warp("setp.lt.u32 %p1, %t, 5; @%p1 activemask.b32 %d;");
  EXPECT_EQ(d[4], 31u);
  EXPECT_EQ(d[5], 0u);
}

TEST(Warp, Faults) {
  expect_fault(FaultKind::contract, {"lane 1", "0x00000001", "does not contain it"},
               [] { (void)run_warp("vote.sync.ballot.b32 %d, 1, 1;"); });
  expect_fault(FaultKind::contract, {"lane 4", "other lanes count on it"}, [] {
    (void)run_warp(
        "setp.lt.u32 %p1, %t, 4; selp.b32 %r1, -1, 0xfffffff0, %p1; redux.sync.add.u32 %d, %t, "
        "%r1;");
  });
  expect_fault(FaultKind::contract, {"0x0000001f", "guard"}, [] {
    (void)run_warp("setp.ge.u32 %p1, %t, 5; @%p1 vote.sync.ballot.b32 %d, 1, -1;");
  });
  expect_fault(FaultKind::unsupported, {"shfl.idx.b32"},
               [] { (void)run_warp("shfl.idx.b32 %d, %t, 0, 31;"); });
  expect_fault(FaultKind::unsupported, {"elect.sync", "two destinations"},
               [] { (void)run_warp("elect.sync %d, -1;"); });
}

TEST(Warp, WaitingForALaneThatNeverComesIsADeadlock) {
  const Report report = expect_fault(FaultKind::deadlock, {"bar.warp.sync"}, [] {
    (void)run_warp(
        "setp.lt.u32 %p1, %t, 16; @%p1 bra DONE; bar.warp.sync -1;\nDONE: bar.warp.sync "
        "0x7fffffff;");
  });
  (void)report;
}

TEST(Warp, AGatheringBehindOneThatStillWaitsCompletes) {
  // The lower half of warp 0 waits for its upper half, which sleeps, when the halves of warp 1
  // meet.
  const auto d = run_warp(
      "shr.u32 %r1, %t, 5; and.b32 %r2, %t, 31;\n"
      "setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r2, 16;\n"
      "@%p1 bra FIRST;\n"
      "nanosleep.u32 500; @%p2 bra LOW1; nanosleep.u32 500; bar.warp.sync -1; mov.u32 %d, 1; bra "
      "DONE;\n"
      "LOW1: bar.warp.sync -1; mov.u32 %d, 2; bra DONE;\n"
      "FIRST: @%p2 bra LOW0; nanosleep.u32 20000; bar.warp.sync -1; mov.u32 %d, 3; bra DONE;\n"
      "LOW0: bar.warp.sync -1; mov.u32 %d, 4;\n"
      "DONE:",
      64);
  for (U32 i = 0; i < 64; ++i) EXPECT_EQ(d[i], i < 16 ? 4u : i < 32 ? 3u : i < 48 ? 2u : 1u);
}

}  // namespace
}  // namespace bw::sim::test::warp_test
