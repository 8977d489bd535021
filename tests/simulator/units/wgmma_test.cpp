/// \file
/// wgmma: one product, groups, and every rule that can be broken. All its forms, shapes and layouts
/// are compared with what an H100 computed (tests/hardware).
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::wgmma_test {
namespace {

constexpr uint32_t kThreads = 128;

/// What a test changes of the kernel.
struct Parts {
  std::string before_fence = "";
  std::string fence = "wgmma.fence.sync.aligned;";
  std::string a_bits =
      "0x0000000800400000";  ///< of the descriptor but its start: 128 and 1024 bytes
  std::string between = "";  ///< from commit to wait
  std::string commit = "wgmma.commit_group.sync.aligned;";
  std::string wait = "wgmma.wait_group.sync.aligned 0;";
  std::string guard = "";      ///< around all of wgmma
  std::string a_end = "2048";  ///< bytes of A that are written
  std::string b_store = "@%p0 st.shared.u32 [%r4], 0x40004000;";
};

/// D = A * B for m64n8k16, f16 to f32: every element of A is 1, of B 2, so that D is 32. Thread t
/// writes its first element of D to out[t].
std::string kernel(const Parts& parts) {
  std::string text = entry(".param .u64 out", R"(
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .f32 %d<4>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 a_tile[2048];
  .shared .align 128 .b8 b_tile[512];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, a_tile;
  mov.u32 %r2, b_tile;
  mov.u32 %r3, 0;
FILL:
  and.b32 %r6, %r0, 127;
  mad.lo.u32 %r4, %r6, 4, %r1;
  add.u32 %r4, %r4, %r3;
  st.shared.u32 [%r4], 0x3c003c00;
  add.u32 %r3, %r3, 512;
  setp.lt.u32 %p0, %r3, A_END;
  @%p0 bra FILL;
  setp.lt.u32 %p0, %r0, 64;
  mad.lo.u32 %r4, %r0, 4, %r2;
  B_STORE
  fence.proxy.async;
  bar.sync 0;
  shr.u32 %r1, %r1, 4;
  cvt.u64.u32 %rd0, %r1;
  or.b64 %rd0, %rd0, A_BITS;
  shr.u32 %r2, %r2, 4;
  cvt.u64.u32 %rd1, %r2;
  or.b64 %rd1, %rd1, 0x0000000800080000;
  mov.f32 %d0, 0f00000000;
  mov.f32 %d1, 0f00000000;
  mov.f32 %d2, 0f00000000;
  mov.f32 %d3, 0f00000000;
  setp.eq.u32 %p1, 0, 0;
  BEFORE_FENCE
  FENCE
  GUARD
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd0, %rd1, %p1, 1, 1, 0, 0;
  COMMIT
  BETWEEN
  WAIT
LEAVE:
  ld.param.u64 %rd2, [out];
  mul.wide.u32 %rd3, %r0, 4;
  add.s64 %rd2, %rd2, %rd3;
  st.global.f32 [%rd2], %d0;
  ret;
)");
  const auto replace = [&](const std::string& name, const std::string& by) {
    text.replace(text.find(name), name.size(), by);
  };
  replace("A_BITS", parts.a_bits);
  replace("A_END", parts.a_end);
  replace("B_STORE", parts.b_store);
  replace("BEFORE_FENCE", parts.before_fence);
  replace("FENCE", parts.fence);
  replace("GUARD", parts.guard);
  replace("COMMIT", parts.commit);
  replace("BETWEEN", parts.between);
  replace("WAIT", parts.wait);
  replace("sm_100a", "sm_90a");
  return text;
}

Settings hopper_settings(Strictness strictness = Strictness::isa, uint64_t seed = 0) {
  Settings settings = test_settings(seed);
  settings.machine = find_machine("h100");
  settings.strictness = strictness;
  return settings;
}

std::vector<float> run(const Parts& parts, const Settings& settings = hopper_settings(),
                       uint32_t count = kThreads) {
  Runner runner(settings);
  auto out = runner.buffer(std::vector<float>(count, -1.0f));
  runner.run(kernel(parts), threads(count), out);
  return out.values();
}

void expect_refused(const Parts& parts, const std::vector<std::string>& words) {
  expect_fault(FaultKind::contract, words, [&] { run(parts); });
}

TEST(Wgmma, MultipliesAndWaits) {
  for (const uint64_t seed : {0u, 1u, 2u})
    EXPECT_EQ(run({}, hopper_settings(Strictness::isa, seed)), std::vector<float>(kThreads, 32));
}

TEST(Wgmma, OperandsThatNothingHasWritten) {
  const Parts no_b{.b_store = ""};
  const Report report =
      expect_fault(FaultCode::shared_never_written, {"this multiplies B, of which no row is whole"},
                   [&] { run(no_b); });
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_NO_THROW(run(no_b, hopper_settings(Strictness::hardware)));
  // Rows may only pad the matrix.
  EXPECT_NO_THROW(run({.a_end = "1536"}));
}

TEST(Wgmma, TwoWarpgroupsWorkOnTheirOwn) {
  EXPECT_EQ(run({}, hopper_settings(), 2 * kThreads), std::vector<float>(2 * kThreads, 32));
}

TEST(Wgmma, AWaitForFewerGroupsLetsTheLastGoOn) {
  // Two groups of one MMA each; all but one are waited for, then all.
  const std::string mma =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd0, %rd1, %p1, 1, "
      "1, 0, 0; wgmma.commit_group.sync.aligned; ";
  EXPECT_EQ(run({.between = mma + "wgmma.wait_group.sync.aligned 1;"}),
            std::vector<float>(kThreads, 64));
}

TEST(Wgmma, ARegisterOfDReadBeforeTheWait) {
  const Parts early{.between = "add.f32 %d0, %d0, 0f3f800000;"};
  const Report report = expect_fault(
      FaultKind::contract, {"register %d0 is touched before a wgmma.wait_group", "the MMA: "},
      [&] { run(early); });
  EXPECT_TRUE(report.hardware_accepts);
  // As ptxas compiles it: the value is there.
  EXPECT_EQ(run(early, hopper_settings(Strictness::hardware)), std::vector<float>(kThreads, 33));
}

TEST(Wgmma, ARegisterOfDWrittenBeforeTheWait) {
  expect_refused({.between = "mov.f32 %d0, 0f3f800000;"},
                 {"register %d0 is touched before a wgmma.wait_group"});
}

TEST(Wgmma, AWaitThatLeavesTheGroupPendingIsNotEnough) {
  expect_refused({.wait = "wgmma.wait_group.sync.aligned 1;"},
                 {"register %d0 is touched before a wgmma.wait_group"});
}

TEST(Wgmma, AnMmaThatIsNotCommittedIsNotWaitedFor) {
  expect_refused({.commit = ""}, {"register %d0 is touched before a wgmma.wait_group",
                                  "the MMA: test.ptx:", "no wgmma.commit_group has come after it"});
  EXPECT_EQ(run({.commit = ""}, hopper_settings(Strictness::hardware)),
            std::vector<float>(kThreads, 32));
}

TEST(Wgmma, AWaitIsForWhatWasCommittedBefore) {
  const std::string early = "wgmma.wait_group.sync.aligned 0; wgmma.commit_group.sync.aligned; ";
  EXPECT_EQ(run({.commit = early}), std::vector<float>(kThreads, 32));
}

TEST(Wgmma, NoFence) {
  const Report report =
      expect_fault(FaultKind::contract, {"register %d0 was written, and no wgmma.fence separates"},
                   [] { run({.fence = ""}); });
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_EQ(run({.fence = ""}, hopper_settings(Strictness::hardware)),
            std::vector<float>(kThreads, 32));
}

TEST(Wgmma, ARegisterWrittenAfterTheFence) {
  expect_refused({.fence = "wgmma.fence.sync.aligned; mov.f32 %d3, 0f00000000;"},
                 {"register %d3 was written", "written by test.ptx:"});
}

TEST(Wgmma, AFenceOnOnePathIsNoFault) {
  // Whether the fence is executed depends on the path; only what holds on all paths is refused.
  const Parts parts{.fence =
                        "setp.lt.u32 %p2, %r0, 1000; @!%p2 bra NOFENCE; "
                        "wgmma.fence.sync.aligned; NOFENCE: "};
  EXPECT_EQ(run(parts), std::vector<float>(kThreads, 32));
}

TEST(Wgmma, AFragmentOfATouchedBeforeTheWait) {
  // The second MMA's A comes from registers; no thread may write them until it is waited for.
  const std::string mma =
      "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, "
      "%d3}, {%r7, %r8, %r9, %r10}, %rd1, %p1, 1, 1, 0; wgmma.commit_group.sync.aligned; ";
  const std::string fragment = "mov.b32 %r7, 0; mov.b32 %r8, 0; mov.b32 %r9, 0; mov.b32 %r10, 0; ";
  const Report report =
      expect_fault(FaultKind::contract,
                   {"register %r9 is touched before a wgmma.wait_group", "the MMA: test.ptx:"},
                   [&] { run({.between = fragment + mma + "mov.b32 %r9, 0;"}); });
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_EQ(run({.between = fragment + mma}), std::vector<float>(kThreads, 32));
}

TEST(Wgmma, AnExitBeforeTheWait) {
  const Parts parts{.between = "ret;"};
  const Report report =
      expect_fault(FaultKind::contract, {"the CTA has exited, and no wgmma.wait_group has waited"},
                   [&] { run(parts); });
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_NE(report.where.find("wgmma.mma_async"), std::string::npos) << report.where;
  EXPECT_NO_THROW(run(parts, hopper_settings(Strictness::hardware)));
}

TEST(Wgmma, AWarpThatDoesNotComeIsNamed) {
  const std::string text = expect_fault(FaultKind::deadlock, {"wgmma group", "all four warps"}, [] {
                             run({.guard = "setp.ge.u32 %p2, %r0, 96; @%p2 bar.sync 1, 64;"});
                           }).format();
  EXPECT_NE(text.find("warps 0-2"), std::string::npos) << text;
}

TEST(Wgmma, HalfAWarpgroup) {
  expect_fault(FaultKind::contract, {"is not one of four whole warps"},
               [] { run({}, hopper_settings(), 64); });
}

TEST(Wgmma, DescriptorsOfItsOwnForEachWarp) {
  expect_refused({.before_fence = "shr.u32 %r5, %r0, 5; cvt.u64.u32 %rd5, %r5; "
                                  "add.s64 %rd1, %rd1, %rd5;"},
                 {"issue different MMAs", "has given other descriptors"});
  expect_refused({.before_fence = "cvt.u64.u32 %rd5, %r0; add.s64 %rd0, %rd0, %rd5;"},
                 {"the descriptor of A differs between the threads of the warp"});
}

TEST(Wgmma, DescriptorsThatAreNoneAndOperandsOutside) {
  expect_refused({.a_bits = "0x4000400800400000"}, {"A: the shared-memory descriptor", "tcgen05"});
  expect_refused({.a_bits = "0x0000000800403000"}, {"out of bounds: A of 64 rows"});
}

/// What decoding an instruction is refused with; "" where it is taken. %f, %h, %p, %r, %rd are
/// there.
std::string refusal(const std::string& instruction) {
  Device device(hopper_settings(), all_units());
  std::string text = entry("",
                           ".reg .f32 %f<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n"
                           ".reg .pred %p<4>;\nwgmma.fence.sync.aligned;\n" +
                               instruction +
                               ";\nwgmma.commit_group.sync.aligned;\n"
                               "wgmma.wait_group.sync.aligned 0;\nret;");
  text.replace(text.find("sm_100a"), 7, "sm_90a");
  try {
    (void)device.kernel(device.load(text, "test.ptx"), "k");
  } catch (const SimulationError& error) {
    return error.report().what;
  }
  return "";
}

TEST(Wgmma, OperandsThatAFormTakes) {
  struct Row {
    const char* instruction;  ///< after "wgmma.mma_async."
    const char* refusal;      ///< a part; "": it is taken
  };
  constexpr const char* kHalf = "sync.aligned.m64n8k16.f32.f16.f16 ";
  constexpr const char* kBytes = "sync.aligned.m64n8k32.f32.e4m3.e5m2 ";
  constexpr const char* kSparse = "sp.sync.aligned.m64n8k32.f32.bf16.bf16 ";
  constexpr const char* kSparseBytes = "sp.sync.aligned.m64n8k64.f32.e4m3.e4m3 ";
  constexpr const char* kIntegers = "sync.aligned.m64n8k32.s32.s8.u8 ";
  const struct {
    const char* opcode;
    std::vector<Row> rows;
  } tables[] = {
      {kHalf,
       {{"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, -1, 1, 0", ""},
        {"{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, %rd1, %p1, 1, 1, 1", ""},
        {"{%f0,%f1,%f2}, %rd0, %rd1, %p1, 1, 1, 0, 0", "has 3 registers of D; N = 8 takes 4"},
        {"{%f0,%f1,%f2,%f3,%f4}, %rd0, %rd1, %p1, 1, 1, 0, 0", "has 5 registers of D"},
        {"{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2}, %rd1, %p1, 1, 1, 0", "not of four registers"},
        {"{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, %rd1, %p1, 1, 1, 0, 0", "does not take"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 0, 1, 0, 0", "imm-scale-a 0; allowed are 1 and -1"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 2, 0, 0", "imm-scale-b 2"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 1, 2, 0", "imm-trans-a 2"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 1, 0, -1", "imm-trans-b -1"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 1, 0", "too few"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 1, 0, 0, 0", "does not take"}}},
      {kBytes,
       {{"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 1", ""},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1, 1, 0, 0", "does not take"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %p1, 1", "too few"}}},
      {kSparse,
       {{"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r4, 0, %p1, 1, 1, 0, 0", ""},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r4, 1, %p1, 1, 1, 0, 0", ""},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r4, 2, %p1, 1, 1, 0, 0",
         "selector 2; allowed are 0 to 1"},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r4, -1, %p1, 1, 1, 0, 0", "selector -1"}}},
      {kSparseBytes,
       {{"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r4, 0, %p1, 1, 1", ""},
        {"{%f0,%f1,%f2,%f3}, %rd0, %rd1, %r4, 1, %p1, 1, 1", "selector 1; allowed are 0 to 0"}}},
      {kIntegers,
       {{"{%r0,%r1,%r2,%r3}, %rd0, %rd1, %p1", ""},
        {"{%r0,%r1,%r2,%r3}, %rd0, %rd1, %p1, 1, 1", "does not take"}}}};
  for (const auto& table : tables)
    for (const Row& row : table.rows) {
      const std::string got =
          refusal("wgmma.mma_async." + std::string(table.opcode) + row.instruction);
      if (*row.refusal == '\0')
        EXPECT_EQ(got, "") << table.opcode << row.instruction;
      else
        EXPECT_NE(got.find(row.refusal), std::string::npos)
            << table.opcode << row.instruction << ": " << got;
    }
}

TEST(Wgmma, IsNotOnABlackwell) {
  expect_fault(FaultKind::unsupported, {"sm_90a", "b200"}, [] { run({}, test_settings()); });
}

TEST(Wgmma, AnExitOfTheSecondWarpgroupBeforeTheWait) {
  const Report report =
      expect_fault(FaultCode::cta_exited_early, {"no wgmma.wait_group has waited", "warp 4"}, [] {
        run({.between = "setp.ge.u32 %p2, %r0, 128; @%p2 ret;"}, hopper_settings(), 2 * kThreads);
      });
  EXPECT_TRUE(report.hardware_accepts);
}

/// MMAs that go on with one another's sums may be computed together, but only with the same D.
TEST(Wgmma, AccumulatorsThatDifferInOneRegister) {
  // %d4 begins at 0; the others hold what the first MMA has left. All elements of A * B are 32.
  const std::string second =
      ".reg .f32 %d4; mov.f32 %d4, 0f00000000; wgmma.fence.sync.aligned;"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d4, %d1, %d2, %d3}, %rd0, %rd1, %p1, 1, "
      "1, 0, 0; wgmma.commit_group.sync.aligned;";
  const Parts parts{.between = second,
                    .wait =
                        "wgmma.wait_group.sync.aligned 0;\n"
                        "add.f32 %d0, %d0, %d4; add.f32 %d0, %d0, %d1;"};
  EXPECT_EQ(run(parts), std::vector<float>(kThreads, 32 + 32 + 64));
}

/// Operands may be written again after the wait and a barrier, not before.
TEST(Wgmma, TheRaceDetectorKnowsWhenOperandsAreFree) {
  const std::string write = "bar.sync 0; st.shared.u32 [%r4], 0;";
  for (const uint64_t seed : {0u, 1u, 2u}) {
    Settings settings = hopper_settings(Strictness::isa, seed);
    settings.checks = Checks::races;
    const std::string wait = "wgmma.wait_group.sync.aligned 0;";
    EXPECT_NO_THROW(run({.wait = wait + write}, settings));
    // Of several MMAs, in a group each, the wait is for all.
    const std::string another =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd0, %rd1, %p1, "
        "1, 1, 0, 0; wgmma.commit_group.sync.aligned;";
    EXPECT_NO_THROW(run({.between = another + another, .wait = wait + write}, settings));
    expect_fault(FaultKind::contract, {"wgmma", "st.shared.u32"},
                 [&] { run({.between = write}, settings); });
  }
}

TEST(Wgmma, WaitsForAtMostSevenGroups) {
  for (const std::string pending : {"0", "7"})
    EXPECT_NO_THROW(run({.between = "wgmma.wait_group.sync.aligned " + pending + ";"}));
  for (const std::string pending : {"8", "-1"})
    expect_fault(FaultKind::unsupported, {"allowed are 0 to 7"},
                 [&] { run({.between = "wgmma.wait_group.sync.aligned " + pending + ";"}); });
}

}  // namespace
}  // namespace bw::sim::test::wgmma_test
