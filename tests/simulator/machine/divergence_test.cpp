/// \file
/// Lanes that part and meet again: values per lane must be those of 32 independent threads.
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::divergence_test {
namespace {

constexpr const char* kOutPerLane = R"(
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
)";

std::string per_lane_entry(const std::string& body) {
  return entry(".param .u64 out", ".reg .pred %p<8>; .reg .b32 %r<16>, %t; .reg .b64 %out;\n" +
                                      std::string(kOutPerLane) + body);
}

TEST(Divergence, IfElseJoinsAndBothSidesSeeTheirLanes) {
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(64));
  runner.run(per_lane_entry(R"(
    and.b32 %r1, %t, 1;
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra EVEN;
    mul.lo.s32 %r2, %t, 100;
    bra JOIN;
  EVEN:
    add.s32 %r2, %t, 7;
  JOIN:
    vote.sync.ballot.b32 %r3, 1, 0xffffffff;
    popc.b32 %r4, %r3;
    mad.lo.s32 %r2, %r4, 10000, %r2;
    st.global.u32 [%out], %r2;
    ret;
  )"),
             threads(64), out);
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(out[t], 320000u + (t % 2 == 0 ? t + 7 : t * 100)) << t;
}

TEST(Divergence, LoopsWithDifferentTripCounts) {
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(32));
  runner.run(per_lane_entry(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
  LOOP:
    setp.ge.u32 %p1, %r1, %t;
    @%p1 bra DONE;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p2, %r3, 1;
    @%p2 bra SKIP;
    add.u32 %r2, %r2, %r1;
  SKIP:
    add.u32 %r1, %r1, 1;
    bra LOOP;
  DONE:
    st.global.u32 [%out], %r2;
    ret;
  )"),
             threads(32), out);
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < t; i += 2) expected += i;
    EXPECT_EQ(out[t], expected) << t;
  }
}

TEST(Divergence, EarlyExitsLeaveTheOthersTogether) {
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(32, 5));
  runner.run(per_lane_entry(R"(
    setp.lt.u32 %p1, %t, 8;
    @%p1 ret;
    setp.lt.u32 %p2, %t, 16;
    @!%p2 bra REST;
    setp.eq.u32 %p3, %t, 9;
    @%p3 bra LEAVE;
    add.u32 %r1, %t, 100;
    bra REST;
  LEAVE:
    exit;
  REST:
    vote.sync.ballot.b32 %r3, 1, 0xfffffd00;
    st.global.u32 [%out], %r3;
    ret;
  )"),
             threads(32), out);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 8 || t == 9 ? 5u : 0xfffffd00u) << t;
}

TEST(Divergence, OneLaneSpinsWhileTheOthersWaitForIt) {
  // Lane 0 of warp 1 spins on a flag in shared memory that warp 0 sets later; its 31 neighbours
  // wait at the meeting point.
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(64));
  runner.run(entry(".param .u64 out",
                   ".reg .pred %p<8>; .reg .b32 %r<16>, %t; .reg .b64 %out;\n"
                   ".shared .align 4 .b32 flag;\n" +
                       std::string(kOutPerLane) + R"(
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra STORED;
    st.volatile.shared.u32 [flag], 0;
  STORED:
    bar.sync 0;
    setp.lt.u32 %p2, %t, 32;
    @%p2 bra SETTER;
    setp.ne.u32 %p3, %t, 32;
    @%p3 bra MEET;
  SPIN:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p4, %r1, 0;
    @%p4 bra SPIN;
  MEET:
    ld.volatile.shared.u32 %r2, [flag];
    st.global.u32 [%out], %r2;
    ret;
  SETTER:
    nanosleep.u32 10000;
    st.volatile.shared.u32 [flag], 77;
    st.global.u32 [%out], 1;
    ret;
  )"),
             threads(64), out);
  EXPECT_EQ(out[0], 1u);
  for (uint32_t t = 32; t < 64; ++t) EXPECT_EQ(out[t], 77u) << t;
}

TEST(Divergence, LanesMakeProgressWhileAnotherLaneOfTheirWarpWaitsForThem) {
  // Lane 0 waits for a flag that lane 1 of the same warp sets: independent thread scheduling.
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(32));
  runner.run(entry(".param .u64 out",
                   ".reg .pred %p<8>; .reg .b32 %r<16>, %t; .reg .b64 %out;\n"
                   ".shared .align 4 .b32 flag;\n" +
                       std::string(kOutPerLane) + R"(
    st.volatile.shared.u32 [flag], 0;
    bar.warp.sync 0xffffffff;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra OTHERS;
  SPIN:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra SPIN;
    bra END;
  OTHERS:
    nanosleep.u32 100;
    st.volatile.shared.u32 [flag], 3;
  END:
    ld.volatile.shared.u32 %r1, [flag];
    st.global.u32 [%out], %r1;
    ret;
  )"),
             threads(32), out);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 3u) << t;
}

TEST(Divergence, PartOfTheLastWarpIsMissing) {
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(64, 9));
  runner.run(per_lane_entry("mov.u32 %r1, %ntid.x; st.global.u32 [%out], %r1; ret;"), threads(40),
             out);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 40 ? 40u : 9u) << t;
}

TEST(Divergence, LanesThatLeaveInsideABranchAreNotWaitedFor) {
  // Of the lanes below 16, two branches deep, those below 4 leave; the others come together.
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(32, 7));
  runner.run(entry(".param .u64 out",
                   ".reg .pred %p<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
                   "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\n"
                   "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nmov.u32 %r2, 0;\n"
                   "setp.ge.u32 %p0, %r0, 16;\n@%p0 bra JOIN;\n"
                   "setp.ge.u32 %p1, %r0, 8;\n@%p1 bra INNER;\n"
                   "setp.lt.u32 %p2, %r0, 4;\n@%p2 ret;\nmov.u32 %r2, 100;\n"
                   "INNER:\nadd.u32 %r2, %r2, 1;\n"
                   "JOIN:\nactivemask.b32 %r1;\nadd.u32 %r1, %r1, %r2;\n"
                   "st.global.u32 [%d0], %r1;\nret;"),
             threads(32), out);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t extra = lane < 8 ? 101 : lane < 16 ? 1 : 0;
    EXPECT_EQ(out[lane], lane < 4 ? 7u : 0xfffffff0u + extra) << lane;
  }
}

TEST(Divergence, ThoseWhoMeetGoOnWhenTheLastHasCome) {
  // One half sleeps for 10 us: after the meeting no lane's clock is earlier.
  for (const char* const sleeps : {"ge", "lt"}) {
    Runner runner;
    const auto out = runner.buffer(std::vector<uint64_t>(32));
    runner.run(entry(".param .u64 out",
                     ".reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %d<5>;\n"
                     "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\n"
                     "mul.wide.u32 %d1, %r0, 8;\nadd.u64 %d0, %d0, %d1;\n"
                     "mov.u64 %d2, %clock64;\nsetp." +
                         std::string(sleeps) +
                         ".u32 %p0, %r0, 16;\n@%p0 bra SLEEP;\nbra JOIN;\n"
                         "SLEEP:\nnanosleep.u32 10000;\n"
                         "JOIN:\nbar.warp.sync -1;\nmov.u64 %d3, %clock64;\n"
                         "sub.u64 %d3, %d3, %d2;\nst.global.u64 [%d0], %d3;\nret;"),
               threads(32), out);
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_GE(out[lane], 19'000u) << lane;
  }
}

}  // namespace
}  // namespace bw::sim::test::divergence_test
