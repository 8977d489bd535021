/// \file
/// Races on Tensor Memory: each missing fence, wait and commit is found by its lines, and what is
/// right stays silent, at both levels.
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::tensor_races_test {
namespace {

/// PTX that tests put together. Each line may end with a mark `// name`, by which it is found in
/// reports. Registers: %t, %warp, %rank; %thread0 (thread 0 of rank 0), %warp0; %tmem, %mine (the
/// warp's lanes of it); %full, %empty (mbarriers; the first takes 1 arrival, the second 4: a warp
/// each); %a, %b, %source (descriptors of what is written), %idesc, %wide (m128n16, m128n32).
struct Program {
  int group = 1;
  std::string body;
  /// Behind the allocation; reads the address into %tmem.
  std::string share =
      "  tcgen05.fence::before_thread_sync;\n  barrier.cluster.arrive.aligned;\n"
      "  barrier.cluster.wait.aligned;\n  tcgen05.fence::after_thread_sync;\n"
      "  ld.shared.b32 %tmem, [slot];  // address\n";
  /// Before the deallocation.
  std::string leave =
      "  tcgen05.fence::before_thread_sync;\n  barrier.cluster.arrive.aligned;\n"
      "  barrier.cluster.wait.aligned;\n  tcgen05.fence::after_thread_sync;\n";
};

std::string text_of(const Program& program) {
  const std::string group = ".cta_group::" + std::to_string(program.group);
  std::string text = R"(
  .reg .pred %p<8>, %thread0, %warp0, %lane0, %rank0, %on, %off;
  .reg .b32 %r<16>, %t, %warp, %rank, %tmem, %mine, %full, %empty, %image, %idesc, %wide, %v<8>;
  .reg .b64 %rd<8>, %a, %b, %source, %start;
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %rank0, %rank, 0;
  setp.eq.and.u32 %thread0, %t, 0, %rank0;
  setp.eq.u32 %warp0, %warp, 0;
  and.b32 %r0, %t, 31;
  setp.eq.u32 %lane0, %r0, 0;
  setp.eq.u32 %on, 0, 0;
  setp.ne.u32 %off, 0, 0;
  mov.u32 %full, full;
  mov.u32 %empty, empty;
  mov.u32 %image, image;
  mov.u32 %idesc, 0x08040010;
  mov.u32 %wide, 0x08080010;
  mov.u32 %r1, 0;
  mad.lo.u32 %r2, %t, 64, %image;
  st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r2+16], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r2+32], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r2+48], {%r1, %r1, %r1, %r1};
  setp.ne.u32 %p0, %t, 0;
  @%p0 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%full], 1;
  mbarrier.init.shared::cta.b64 [%empty], 4;
INITIALISED:
  bar.warp.sync -1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  shr.u32 %r2, %image, 4;
  cvt.u64.u32 %start, %r2;
  or.b64 %a, %start, 0x0000400800800000;
  add.s64 %b, %start, 256;
  or.b64 %b, %b, 0x0000400800100000;
  or.b64 %source, %start, 0x0000400800200000;
  @!%warp0 bra ALLOCATED;
  tcgen05.alloc)" + group +
                     R"(.sync.aligned.shared::cta.b32 [slot], 128;  // alloc
ALLOCATED:
)" + program.share + R"(
  shl.b32 %mine, %warp, 21;
  add.u32 %mine, %mine, %tmem;
)" + program.body + program.leave +
                     R"(
  @%warp0 tcgen05.dealloc)" +
                     group + R"(.sync.aligned.b32 %tmem, 128;  // dealloc
  ret;
)";
  return entry("", text,
               ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n"
               ".shared .align 4 .b32 slot;\n.shared .align 1024 .b8 image[8192];\n");
}

void run(const Program& program, Strictness level, uint64_t seed) {
  Settings settings = test_settings(seed);
  settings.checks = Checks::races;
  settings.strictness = level;
  Runner runner(settings);
  const auto ctas = static_cast<uint32_t>(program.group);
  runner.run(text_of(program), grid(ctas, 128, ctas));
}

/// "test.ptx:N" of the line with this mark.
std::string line_of(const Program& program, const std::string& mark) {
  const std::string text = text_of(program);
  const size_t at = text.find("// " + mark + "\n");
  EXPECT_NE(at, std::string::npos) << mark;
  return "test.ptx:" + std::to_string(1 + std::count(text.begin(), text.begin() + at, '\n'));
}

/// Found under a few seeds, with the code, both lines and these words.
void expect_race(const Program& program, FaultCode code, const std::string& first,
                 const std::string& second, std::vector<std::string> words,
                 Strictness level = Strictness::isa) {
  words.push_back(line_of(program, first));
  for (const uint64_t seed : {0u, 1u, 2u}) {
    const Report report =
        expect_fault(FaultKind::contract, words, [&] { run(program, level, seed); });
    EXPECT_EQ(report.code, code) << report.format();
    EXPECT_NE(report.where.find(line_of(program, second)), std::string::npos) << report.format();
  }
}

void expect_silence(const Program& program) {
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    for (const uint64_t seed : {0u, 1u, 2u}) EXPECT_NO_THROW(run(program, level, seed));
}
/// At the level hardware, which asks for less.
void expect_silence_on_hardware(const Program& program) {
  for (const uint64_t seed : {0u, 1u}) EXPECT_NO_THROW(run(program, Strictness::hardware, seed));
}

// ---- Parts of programs

const std::string kBefore = "  tcgen05.fence::before_thread_sync;\n";
const std::string kAfter = "  tcgen05.fence::after_thread_sync;\n";
const std::string kWaitLoad = "  tcgen05.wait::ld.sync.aligned;\n";
const std::string kWaitStore = "  tcgen05.wait::st.sync.aligned;\n";
const std::string kSync = "  bar.sync 0;\n";

std::string mma(const std::string& mark, const std::string& accumulate = "%off",
                const std::string& shape = "%idesc", const std::string& d = "%tmem") {
  return "  @%thread0 tcgen05.mma.cta_group::1.kind::f16 [" + d + "], %a, %b, " + shape + ", " +
         accumulate + ";  // " + mark + "\n";
}
std::string copy(const std::string& mark, const std::string& to = "%tmem") {
  return "  @%thread0 tcgen05.cp.cta_group::1.128x128b [" + to + "], %source;  // " + mark + "\n";
}
std::string commit(const std::string& mark = "commit") {
  return "  @%thread0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
         "[%full];  // " +
         mark + "\n";
}
std::string load(const std::string& mark, const std::string& from = "%mine") {
  return "  tcgen05.ld.sync.aligned.32x32b.x4.b32 {%v0, %v1, %v2, %v3}, [" + from + "];  // " +
         mark + "\n";
}
std::string store(const std::string& mark, const std::string& to = "%mine") {
  return "  tcgen05.st.sync.aligned.32x32b.x4.b32 [" + to + "], {%r1, %r1, %r1, %r1};  // " + mark +
         "\n";
}
std::string wait(const std::string& barrier, int parity, const std::string& mark) {
  static int labels = 0;
  const std::string label = "WAIT" + std::to_string(labels++);
  return label + ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%" + barrier + "], " +
         std::to_string(parity) + ";  // " + mark + "\n  @!%p1 bra " + label + ";\n";
}
std::string arrive(const std::string& mark, const std::string& order = "") {
  return "  @%lane0 mbarrier.arrive" + order + ".shared::cta.b64 _, [%empty];  // " + mark + "\n";
}

/// An accumulator is written, read by four warps and written again.
struct HandOver {
  std::string commit_full = commit();
  std::string wait_full = wait("full", 0, "wait full");
  std::string after_full = kAfter;
  std::string wait_load = kWaitLoad;
  std::string before_empty = kBefore;
  std::string arrive_empty = arrive("arrive");
  std::string wait_empty = wait("empty", 0, "wait empty");
  std::string after_empty = kAfter;

  [[nodiscard]] Program program() const {
    return {.body = mma("first") + commit_full + wait_full + after_full + load("read") + wait_load +
                    before_empty + arrive_empty + "  @!%thread0 bra SECOND;\n" + wait_empty +
                    after_empty + mma("second") + commit("commit 2") + "SECOND:\n" +
                    wait("full", 1, "wait 2") + kAfter + load("read 2") + kWaitLoad};
  }
};

// ---- Fences

TEST(TensorRaces, TheWholeHandOverIsSilent) { expect_silence(HandOver{}.program()); }

TEST(TensorRaces, NoAfterFenceBehindTheAccumulatorWait) {
  HandOver parts;
  parts.after_full = "";
  const Program program = parts.program();
  expect_race(program, FaultCode::race_tcgen05_fence, "first", "read",
              {"tcgen05.fence::after_thread_sync", line_of(program, "wait full")});
  expect_silence_on_hardware(program);
}

TEST(TensorRaces, NoBeforeFenceAheadOfTheRelease) {
  HandOver parts;
  parts.before_empty = "";
  const Program program = parts.program();
  expect_race(program, FaultCode::race_tcgen05_fence, "read", "second",
              {"tcgen05.fence::before_thread_sync", line_of(program, "arrive")});
  expect_silence_on_hardware(program);
}

TEST(TensorRaces, NoAfterFenceInTheMmaWarp) {
  HandOver parts;
  parts.after_empty = "";
  const Program program = parts.program();
  expect_race(program, FaultCode::race_tcgen05_fence, "read", "second",
              {"tcgen05.fence::after_thread_sync", line_of(program, "wait empty")});
  expect_silence_on_hardware(program);
}

TEST(TensorRaces, ARelaxedArriveBetweenFencesIsEnough) {
  HandOver parts;
  parts.arrive_empty = arrive("arrive", ".relaxed.cta");
  expect_silence(parts.program());
}

TEST(TensorRaces, AWarpInBetweenHandsOnWithoutFences) {
  // Warp 3 sees the accumulator complete and tells the others through a barrier of the CTA.
  HandOver parts;
  parts.wait_full = "  setp.ne.u32 %p2, %warp, 3;\n  @%p2 bra TOLD;\n" +
                    wait("full", 0, "wait full") + "TOLD:\n  bar.sync 0;\n";
  expect_silence(parts.program());
}

// ---- Completion

TEST(TensorRaces, NoWaitForTheLoadAheadOfTheRelease) {
  HandOver parts;
  parts.wait_load = "";
  const Program program = parts.program();
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    expect_race(program, FaultCode::race_tensor_memory, "read", "second",
                {"tcgen05.wait::ld", line_of(program, "arrive")}, level);
}

TEST(TensorRaces, TheAccumulatorIsNotReleasedAtAll) {
  HandOver parts;
  parts.wait_empty = "";
  const Program program = parts.program();
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    expect_race(program, FaultCode::race_tensor_memory, "read", "second", {"wait for that"}, level);
}

TEST(TensorRaces, NobodyWaitsForTheCommit) {
  const Program program{.body = mma("first") + commit() + kBefore + kSync + kAfter + load("read") +
                                kWaitLoad + wait("full", 0, "wait full") + kAfter};
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    expect_race(
        program, FaultCode::race_tensor_memory, "first", "read",
        {"has not waited for the mbarrier of the tcgen05.commit", line_of(program, "commit")},
        level);
}

TEST(TensorRaces, NoCommit) {
  // The commit comes before the operation, and so waits for nothing.
  const Program program{.body = commit() + mma("first") + wait("full", 0, "wait full") + kAfter +
                                load("read") + kWaitLoad + commit("commit 2") +
                                wait("full", 1, "wait 2")};
  expect_race(program, FaultCode::race_tensor_memory, "first", "read",
              {"no tcgen05.commit covers the earlier operation"});
}

TEST(TensorRaces, AStoreThatNobodyHasWaitedFor) {
  // Each warp's store is read by the tensor core: as A of an MMA.
  const auto program = [](const std::string& waited) {
    return Program{.body = store("store") + store("store 2", "%mine+4") + waited + kBefore + kSync +
                           kAfter +
                           "  @%thread0 tcgen05.mma.cta_group::1.kind::f16 [%tmem+16], [%tmem], "
                           "%b, %idesc, %off;  // mma\n" +
                           commit() + wait("full", 0, "wait full") + kAfter};
  };
  expect_race(program(""), FaultCode::race_tensor_memory, "store", "mma", {"tcgen05.wait::st"});
  expect_silence(program(kWaitStore));
}

TEST(TensorRaces, AWarpReadsItsOwnStoreBeforeTheWait) {
  const auto program = [](const std::string& waited) {
    return Program{.body = store("first") + kWaitStore + store("store") + waited + load("read") +
                           kWaitLoad + kWaitStore};
  };
  expect_race(program(""), FaultCode::race_tensor_memory, "store", "read", {"tcgen05.wait::st"});
  expect_silence(program(kWaitStore));
}

// ---- Pipelines of the tensor core

TEST(TensorRaces, PairsThatStayInOrder) {
  const std::string end =
      commit() + wait("full", 0, "wait full") + kAfter + load("read") + kWaitLoad;
  expect_silence({.body = mma("first") + mma("again", "%on") + mma("and again", "%on") + end});
  expect_silence({.body = copy("copy", "%tmem+32") + copy("copy 2", "%tmem+36") +
                          "  @%thread0 tcgen05.mma.cta_group::1.kind::f16 [%tmem], [%tmem+32], %b, "
                          "%idesc, %off;\n" +
                          end});
}

TEST(TensorRaces, AShiftStaysBehindTheMmaAndIsWaitedFor) {
  const std::string shift = "  @%thread0 tcgen05.shift.cta_group::1.down [%tmem];  // shift\n";
  expect_silence({.body = mma("first") + shift + commit() + wait("full", 0, "wait full") + kAfter +
                          load("read") + kWaitLoad});
  expect_race({.body = mma("first") + commit() + wait("full", 0, "wait full") + kAfter + shift +
                       load("read") + kWaitLoad + commit("commit 2") + wait("full", 1, "wait 2")},
              FaultCode::race_tensor_memory, "shift", "read", {"tcgen05.commit"});
}

TEST(TensorRaces, PairsThatDoNot) {
  const std::string end = commit() + wait("full", 0, "wait full") + kAfter;
  const Program other_shape{.body = mma("first") + mma("second", "%off", "%wide") + end};
  expect_race(other_shape, FaultCode::race_tensor_memory, "first", "second",
              {"no tcgen05.commit covers"});
  expect_silence_on_hardware(other_shape);
  const Program overwritten{.body = mma("first") + copy("second") + end};
  expect_race(overwritten, FaultCode::race_tensor_memory, "first", "second",
              {"no tcgen05.commit covers"});
  expect_silence_on_hardware(overwritten);
}

TEST(TensorRaces, APipelineThatTwoWarpsShare) {
  // Warp 1 copies, warp 0 multiplies after it: issued in order is enough, fences and a relaxed
  // arrive between them.
  const auto program = [](const std::string& before, const std::string& after) {
    return Program{
        .body =
            "  setp.eq.u32 %p3, %t, 32;\n"
            "  @%p3 tcgen05.cp.cta_group::1.128x128b [%tmem+32], %source;  // copy\n"
            "  @%p3 tcgen05.cp.cta_group::1.128x128b [%tmem+36], %source;\n" +
            before +
            "  @%lane0 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%empty];  // tell\n"
            "  @!%thread0 bra WAITED;\n" +
            wait("empty", 0, "told") + after +
            "  @%thread0 tcgen05.mma.cta_group::1.kind::f16 [%tmem], [%tmem+32], %b, "
            "%idesc, %off;  // mma\n" +
            commit() + "WAITED:\n" + wait("full", 0, "wait full") + kAfter +
            "  @%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"
            ".b64 [%full];\n" +
            wait("full", 1, "wait copies") + kAfter};
  };
  expect_silence(program(kBefore, kAfter));
  for (const auto& [before, after] :
       {std::pair{std::string(), kAfter}, std::pair{kBefore, std::string()}})
    expect_race(
        program(before, after), FaultCode::race_tcgen05_fence, "copy", "mma",
        {before.empty() ? "::before_thread_sync in warp 1" : "::after_thread_sync in warp 0"});
}

TEST(TensorRaces, RowsThatFourWarpsShare) {
  // A warp reads the lanes of another through a second MMA's D: M = 64 leaves lanes 16 to 31 free.
  const std::string half = "0x04040010";  // m64n8
  const std::string end = commit() + wait("full", 0, "wait full") + kAfter;
  const auto program = [&](const std::string& lane) {
    return Program{.body = "  mov.u32 %wide, " + half + ";\n  add.u32 %r5, %tmem, " + lane + ";\n" +
                           mma("first", "%off", "%wide") + mma("second", "%off", "%wide", "%r5") +
                           end};
  };
  expect_silence(program("0x100000"));  // lanes 16 on
  expect_race(program("4"), FaultCode::race_tensor_memory, "first", "second",
              {"no tcgen05.commit covers"});
}

// ---- Allocation

TEST(TensorRaces, TheAddressIsReadWithoutABarrier) {
  // Time instead of a barrier.
  Program program{.body = mma("first") + commit() + wait("full", 0, "wait full") + kAfter};
  program.share =
      "  barrier.cluster.arrive.aligned;\n  nanosleep.u32 4000;\n"
      "  ld.shared.b32 %tmem, [slot];  // address\n  barrier.cluster.wait.aligned;\n";
  // Arriving hands the address on; reading it before the wait does not take it.
  const std::string late = program.share;
  for (const uint64_t seed : {0u, 1u}) {
    const Report report =
        expect_fault(FaultKind::contract, {line_of(program, "alloc"), line_of(program, "address")},
                     [&] { run(program, Strictness::isa, seed); });
    EXPECT_EQ(report.code, FaultCode::race_tmem_address) << report.format();
  }
  expect_silence_on_hardware(program);
}

TEST(TensorRaces, TheAddressIsAssumedToBeZero) {
  Program program{.body = "  barrier.cluster.wait.aligned;\n" + kAfter};
  program.share =
      "  barrier.cluster.arrive.aligned;\n  nanosleep.u32 4000;\n  mov.u32 %tmem, 0;\n"
      "  shl.b32 %mine, %warp, 21;\n" +
      store("store") + kWaitStore;
  expect_race(program, FaultCode::race_tmem_address, "alloc", "store", {"is not ordered before"});
  expect_silence_on_hardware(program);
}

TEST(TensorRaces, DeallocatedBeforeAnotherWarpIsThrough) {
  Program program{.body = mma("first") + commit() + wait("full", 0, "wait full") + kAfter +
                          load("read") + kWaitLoad};
  program.leave = "  @%warp0 nanosleep.u32 4000;\n";
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    expect_race(program, FaultCode::race_tensor_memory, "read", "dealloc", {"the tcgen05.dealloc"},
                level);
  program.leave = kSync;  // the loads are complete: a barrier is enough
  expect_silence(program);
}

// ---- Pairs

/// The leader's thread multiplies for both CTAs; all warps of both read.
Program pair(const std::string& after, const std::string& leave) {
  Program program{.group = 2, .body = ""};
  program.body =
      "  .reg .b16 %mask;\n  mov.b16 %mask, 3;\n"
      "  @%thread0 tcgen05.cp.cta_group::2.128x128b [%tmem], %source;  // first\n"
      "  @%thread0 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
      ".multicast::cluster.b64 [%full], %mask;  // commit\n" +
      wait("full", 0, "wait full") + after + load("read") + kWaitLoad;
  if (!leave.empty()) program.leave = leave;
  return program;
}

TEST(TensorRaces, APairWithAllFencesIsSilent) { expect_silence(pair(kAfter, "")); }

TEST(TensorRaces, ACtaOfAPairFreesBeforeThePeerHasAllocated) {
  Program program{.group = 2, .body = ""};
  program.share = "  bar.sync 0;\n  ld.shared.b32 %tmem, [slot];\n";  // of this CTA alone
  program.leave = "";
  for (const Strictness level : {Strictness::isa, Strictness::hardware})
    expect_race(program, FaultCode::race_tensor_memory, "alloc", "dealloc",
                {"cluster barrier", "rank 0", "rank 1"}, level);
}

TEST(TensorRaces, ThePeerLacksTheAfterFence) {
  const Program program = pair("  @!%rank0 bra READ;\n" + kAfter + "READ:\n", "");
  expect_race(program, FaultCode::race_tcgen05_fence, "first", "read",
              {"tcgen05.fence::after_thread_sync", "rank 1"});
  expect_silence_on_hardware(program);
}

}  // namespace
}  // namespace bw::sim::test::tensor_races_test
