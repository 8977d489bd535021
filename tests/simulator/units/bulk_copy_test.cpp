/// \file
/// cp.async.bulk, cp.reduce.async.bulk and the bulk groups, from the PTX ISA.
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::bulk_copy_test {
namespace {

const std::string kCommit = "  cp.async.bulk.commit_group;\n";
const std::string kWaitAll = "  cp.async.bulk.wait_group 0;\n";
const std::string kStore64 =
    "  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r1+32], 64;\n";

TEST(BulkCopy, LoadsBytesAndCompletesTheMbarrier) {
  for (const std::string space :
       {"shared::cta", "shared::cluster", "weak.shared::cta", "relaxed.gpu.shared::cta"}) {
    const std::string type = space.starts_with("relaxed") ? ".b128" : "";
    CopyRun run;
    run.run(expect_bytes(48) + "  mov.u32 %r4, 48;\n  @%p0 cp.async.bulk." + space +
            ".global.mbarrier::complete_tx::bytes" + type + " [%r1+16], [%rd3+32], %r4, [%r2];\n" +
            wait_for_bar() + write_tile());
    for (uint32_t i = 0; i < kTileWords; ++i)
      EXPECT_EQ(run.out[i], i >= 4 && i < 16 ? 8 + (i - 4) + 1 : tile_word(0, i));
  }
}

/// Five words of input, whose last chunk of 16 bytes ends beyond them.
void load_five_words(CopyRun& run, const std::string& operands) {
  const auto words = run.runner.buffer(std::vector<uint32_t>{11, 12, 13, 14, 15});
  run.runner.run(
      entry(kCopyParameters,
            copy_prelude() + expect_bytes(32) +
                "  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob "
                "[%r1], [%rd3], 32, " +
                operands + ", [%r2];\n" + wait_for_bar() + write_tile() + "  ret;\n"),
      grid(1, 32, 1), OpaqueMap{}.bytes, run.out, words);
}

/// PTX ISA 9.2: the bytes that .ignore_oob names may be outside of the allocation.
TEST(BulkCopy, IgnoredBytesNeedNotExist) {
  for (const uint32_t first : {0u, 4u}) {
    CopyRun run;
    load_five_words(run, std::to_string(first) + ", 12");
    for (uint32_t i = 0; i < 5; ++i)
      EXPECT_EQ(run.out[i], i * 4 < first ? 0xcdcdcdcd : 11 + i) << i;
    EXPECT_EQ(run.out[8], tile_word(0, 8));
  }
  for (const auto& [operands, words] :
       {std::pair<std::string, std::string>{"0, 11", "out of bounds"},
        {"16, 12", "ignores 16 bytes at the beginning and 12 at the end"},
        {"0, 16", "ignores 0 bytes at the beginning and 16 at the end"}})
    expect_fault(FaultKind::contract, {words}, [&, o = operands] {
      CopyRun run;
      load_five_words(run, o);
    });
}

TEST(BulkCopy, DataMovesAtCompletion) {
  CopyRun run;
  run.run(expect_bytes(16) +
          "  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd3], 16, "
          "[%r2];\n  ld.shared.u32 %r10, [%r1];\n" +
          wait_for_bar() +
          "  ld.shared.u32 %r11, [%r1];\n  @%p0 st.global.v2.u32 [%rd2], {%r10, %r11};\n");
  EXPECT_EQ(run.out[0], tile_word(0, 0));
  EXPECT_EQ(run.out[1], 1u);
}

TEST(BulkCopy, MulticastToTheMask) {
  CopyRun run(4);
  run.run(
      "  mov.u32 %r4, 0;\n  setp.ne.u32 %p1, %r3, 2;\n  @%p1 mov.u32 %r4, 64;\n"
      "  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r4;\n"
      "  setp.eq.and.u32 %p2, %r3, 1, %p0;\n  mov.u16 %rs1, 11;\n"
      "  @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%r1], [%rd3], 64, [%r2], %rs1, 0;\n" +
      wait_for_bar() + write_tile() + cluster_sync());
  for (uint32_t rank = 0; rank < 4; ++rank)
    for (uint32_t i = 0; i < 16; ++i)
      EXPECT_EQ(run.out[rank * kTileWords + i], rank == 2 ? tile_word(2, i) : i + 1);
}

/// Thread 0 of rank 0 sends to rank 1, whose barrier counts.
std::string send_to_rank_1(const std::string& instruction) {
  return "  setp.eq.u32 %p3, %r3, 1;\n  setp.eq.and.u32 %p1, %r3, 0, %p0;\n"
         "  setp.eq.and.u32 %p2, %r3, 1, %p0;\n"
         "  mapa.shared::cluster.u32 %r4, %r1, 1;\n  mapa.shared::cluster.u32 %r5, %r2, 1;\n"
         "  @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32;\n"
         "  @%p1 " +
         instruction + " [%r4+64], [%r1], 32, [%r5];\n  @!%p3 bra AFTER;\n" + wait_for_bar() +
         "AFTER:\n" + cluster_sync() + write_tile();
}

TEST(BulkCopy, BetweenCtasOfACluster) {
  CopyRun run(2);
  run.run(send_to_rank_1("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"));
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(run.out[kTileWords + i], i >= 16 && i < 24 ? tile_word(0, i - 16) : tile_word(1, i));
}

TEST(BulkCopy, ReductionInAnotherCta) {
  CopyRun run(2);
  run.run(send_to_rank_1(
      "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32"));
  for (uint32_t i = 16; i < 24; ++i)
    EXPECT_EQ(run.out[kTileWords + i], tile_word(0, i - 16) + tile_word(1, i));
}

TEST(BulkCopy, StoresWhenTheGroupIsComplete) {
  CopyRun run;
  run.run(kStore64 + kCommit + kWaitAll +
          "  ld.global.u32 %r10, [%rd2+16];\n"
          "  @%p0 st.global.u32 [%rd2], %r10;\n");
  EXPECT_EQ(run.out[0], tile_word(0, 8));
  for (uint32_t i = 4; i < 20; ++i) EXPECT_EQ(run.out[i], tile_word(0, i + 4));
  EXPECT_EQ(run.out[20], kUntouched);
}

TEST(BulkCopy, ReadDoneIsEarlierThanWriteDone) {
  CopyRun run;
  // After wait_group.read the source may be overwritten, but the write is not visible yet.
  run.run(kStore64 + kCommit +
          "  cp.async.bulk.wait_group.read 0;\n"
          "  @%p0 st.shared.u32 [%r1+32], 7;\n  ld.global.u32 %r10, [%rd2+16];\n" +
          kWaitAll + "  @%p0 st.global.u32 [%rd2], %r10;\n");
  EXPECT_EQ(run.out[0], kUntouched);
  EXPECT_EQ(run.out[4], tile_word(0, 8));
}

TEST(BulkCopy, OverwritingTheSourceTooEarlyIsSeen) {
  CopyRun run;
  run.run(kStore64 + kCommit + "  @%p0 st.shared.u32 [%r1+32], 7;\n" + kWaitAll);
  EXPECT_EQ(run.out[4], 7u);
}

TEST(BulkCopy, WaitGroupLeavesTheMostRecentPending) {
  CopyRun run;
  run.run("  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r1], 16;\n" + kCommit +
          "  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2+32], [%r1], 2048;\n" + kCommit +
          "  cp.async.bulk.wait_group 1;\n  ld.global.u32 %r10, [%rd2+16];\n"
          "  ld.global.u32 %r11, [%rd2+32];\n" +
          kWaitAll +
          "  ld.global.u32 %r12, [%rd2+32];\n"
          "  @%p0 st.global.v2.u32 [%rd2], {%r10, %r11};\n  @%p0 st.global.u32 [%rd2+8], %r12;\n");
  EXPECT_EQ(run.out[0], tile_word(0, 0));
  EXPECT_EQ(run.out[1], kUntouched);
  EXPECT_EQ(run.out[2], tile_word(0, 0));
}

TEST(BulkCopy, GroupsBelongToTheirThread) {
  CopyRun run;
  // Thread 1 has no groups, so its wait returns at once and the write is not there yet.
  run.run(kStore64 + kCommit + "  setp.eq.u32 %p1, %r0, 1;\n  @!%p1 bra OTHERS;\n" + kWaitAll +
          "  ld.global.u32 %r10, [%rd2+16];\n  st.global.u32 [%rd2], %r10;\nOTHERS:\n" + kWaitAll);
  EXPECT_EQ(run.out[0], kUntouched);
  EXPECT_EQ(run.out[4], tile_word(0, 8));
}

/// Counts the copies that are issued, and the lanes that issue them.
class CountsCopies final : public LaunchObserver {
 public:
  std::vector<LaneMask> lanes;

  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster&) override {
    return std::make_unique<OfCluster>(*this);
  }

 private:
  struct OfCluster final : Observer {
    explicit OfCluster(CountsCopies& counts_in) : counts(counts_in) {}
    [[nodiscard]] EventKinds wants() const override { return event_kinds(EventKind::copy); }
    void on_copy(const CopyEvent& event) override {
      if (event.stage == CopyEvent::Stage::issued) counts.lanes.push_back(event.origin.lanes);
    }
    CountsCopies& counts;
  };
};

/// The lanes of each copy that `instruction` of a whole warp issues; %r4 is 0 in lanes 0-15, else
/// 64; %rd4 is `out` and %r4 bytes, %r5 the tile and %r4 bytes.
std::vector<LaneMask> copies_of_a_warp(const std::string& instruction) {
  CopyRun run;
  auto observer = std::make_unique<CountsCopies>();
  CountsCopies& counts = *observer;
  run.runner.device().observe(std::move(observer));
  run.run(
      "  and.b32 %r4, %r0, 16;\n  shl.b32 %r4, %r4, 2;\n  add.u32 %r5, %r1, %r4;\n"
      "  cvt.u64.u32 %rd5, %r4;\n  add.u64 %rd4, %rd2, %rd5;\n" +
      expect_bytes(32 * 64) + instruction + kCommit + kWaitAll);
  return counts.lanes;
}

/// As ptxas makes them for sm_90a and sm_100a: of stores from shared to global memory one for each
/// tuple of operands, of loads and reductions one for each lane.
TEST(BulkCopy, LanesWithTheSameOperandsStoreOnce) {
  const std::vector<LaneMask> once{kAllLanes}, twice{0xffffu, 0xffff0000u};
  const std::string store = "  cp.async.bulk.global.shared::cta.bulk_group ";
  EXPECT_EQ(copies_of_a_warp(store + "[%rd2], [%r1], 64;\n"), once);
  EXPECT_EQ(copies_of_a_warp(store + "[%rd4], [%r5], 64;\n"), twice);
  EXPECT_EQ(copies_of_a_warp(store + "[%rd4], [%r1], 64;\n"), twice);
  const std::string reduction = "  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 ";
  EXPECT_EQ(copies_of_a_warp(reduction + "[%rd2], [%r1], 64;\n").size(), 32u);
  const std::string load =
      "  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd3], 64, [%r2];\n";
  EXPECT_EQ(copies_of_a_warp(load + wait_for_bar()).size(), 32u);
}

/// The store is in the group of each lane that has issued it.
TEST(BulkCopy, EveryLaneOfAStoreWaitsForIt) {
  CopyRun run;
  run.run("  cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r1], 16;\n" + kCommit +
          "  setp.eq.u32 %p1, %r0, 7;\n  @!%p1 bra OTHERS;\n" + kWaitAll +
          "  ld.global.u32 %r10, [%rd2+16];\n  st.global.u32 [%rd2], %r10;\nOTHERS:\n" + kWaitAll);
  EXPECT_EQ(run.out[0], tile_word(0, 0));
}

TEST(BulkCopy, UncommittedOperationsAreNotWaitedFor) {
  CopyRun run;
  run.run(kStore64 + kWaitAll + "  ld.global.u32 %r10, [%rd2+16];\n" + kCommit + kWaitAll +
          "  @%p0 st.global.u32 [%rd2], %r10;\n");
  EXPECT_EQ(run.out[0], kUntouched);
}

TEST(BulkCopy, ByteMaskSelectsBytesOfEach16) {
  CopyRun run;
  run.run(
      "  mov.u16 %rs1, 0x8001;\n"
      "  @%p0 cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%rd2], [%r1], "
      "32, "
      "0, %rs1;\n" +
      kCommit + kWaitAll);
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    EXPECT_EQ(run.out[4 * chunk], (kUntouched & ~0xffu) | (tile_word(0, 4 * chunk) & 0xffu));
    EXPECT_EQ(run.out[4 * chunk + 1], kUntouched);
    EXPECT_EQ(run.out[4 * chunk + 3],
              (kUntouched & 0xffffffu) | (tile_word(0, 4 * chunk + 3) & 0xff000000u));
  }
}

/// Reduces `source` words (4) into `memory` words with an operation; returns the memory after it.
std::vector<uint32_t> reduced(const std::string& operation, std::vector<uint32_t> memory,
                              std::vector<uint32_t> source) {
  CopyRun run;
  std::string body = "  @%p0 bra STORE;\n  bra SYNC;\nSTORE:\n";
  for (size_t i = 0; i < 4; ++i) {
    run.out[i] = memory[i];
    body +=
        "  st.shared.u32 [%r1+" + std::to_string(4 * i) + "], " + std::to_string(source[i]) + ";\n";
  }
  body +=
      "SYNC:\n  fence.proxy.async.shared::cta;\n"
      "  @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group." +
      operation + " [%rd2], [%r1], 16;\n" + kCommit + kWaitAll;
  run.run(body);
  return {run.out[0], run.out[1], run.out[2], run.out[3]};
}

using Words = std::vector<uint32_t>;

TEST(BulkReduce, Integers) {
  EXPECT_EQ(reduced("add.u32", {1, 0xffffffff, 3, 4}, {10, 2, 30, 40}), (Words{11, 1, 33, 44}));
  EXPECT_EQ(reduced("min.s32", {0xffffffff, 5, 7, 0}, {1, 0xfffffffe, 7, 1}),
            (Words{0xffffffff, 0xfffffffe, 7, 0}));
  EXPECT_EQ(reduced("min.u32", {0xffffffff, 5, 7, 0}, {1, 0xfffffffe, 7, 1}), (Words{1, 5, 7, 0}));
  EXPECT_EQ(reduced("max.u64", {1, 2, 9, 1}, {9, 1, 3, 1}), (Words{1, 2, 9, 1}));
  EXPECT_EQ(reduced("max.s64", {1, 0x80000000, 9, 1}, {9, 1, 3, 1}), (Words{9, 1, 9, 1}));
  EXPECT_EQ(reduced("inc.u32", {4, 5, 6, 9}, {5, 5, 5, 0}), (Words{5, 0, 0, 0}));
  EXPECT_EQ(reduced("dec.u32", {0, 5, 6, 3}, {5, 5, 5, 5}), (Words{5, 4, 5, 2}));
  EXPECT_EQ(reduced("and.b32", {12, 12, 0, 0}, {10, 3, 1, 0}), (Words{8, 0, 0, 0}));
  EXPECT_EQ(reduced("or.b64", {12, 12, 0, 0}, {10, 3, 1, 0}), (Words{14, 15, 1, 0}));
  EXPECT_EQ(reduced("xor.b32", {12, 12, 0, 0}, {10, 3, 1, 0}), (Words{6, 15, 1, 0}));
  EXPECT_EQ(reduced("add.u64", {0xffffffff, 0, 1, 0}, {1, 0, 1, 1}), (Words{0, 1, 2, 1}));
}

TEST(BulkReduce, FloatingPoint) {
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  // add.f32 keeps subnormals, as a Hopper GPU does; the PTX ISA says that they flush to zero.
  EXPECT_EQ(reduced("add.f32", {bits(1), 3, 0x80000003, 0x80800001},
                    {bits(0.5f), 7, 0x80000007, 0x00800000}),
            (Words{bits(1.5f), 10, 0x8000000a, 0x80000001}));
  EXPECT_EQ(reduced("add.f32", {bits(1), 0x7f800000, 0, 0}, {0x7fc12345, 0xff800000, 0, 0}),
            (Words{0x7fffffff, 0x7fffffff, 0, 0}));
  const auto one = std::bit_cast<uint64_t>(1.0 + 0x1p-40);
  const auto two = std::bit_cast<uint64_t>(2.0 + 0x1p-40);
  EXPECT_EQ(reduced("add.f64", {uint32_t(one), uint32_t(one >> 32), 3, 0}, {0, 0x3ff00000, 7, 0}),
            (Words{uint32_t(two), uint32_t(two >> 32), 10, 0}));
  // Values seen on a Hopper GPU; subnormals are kept, ties go to even, min and max prefer numbers.
  EXPECT_EQ(reduced("add.noftz.f16", {0x00030001, 0x10003c00, 0x7c007c00, 0x7bff8000},
                    {0x00070003, 0x3c017e11, 0x7c00fc00, 0x7bff8000}),
            (Words{0x000a0004, 0x3c027fff, 0x7c007fff, 0x7c008000}));
  EXPECT_EQ(reduced("add.noftz.bf16", {0x00030001, 0x3b803f80, 0x7f807f80, 0x7f7f8000},
                    {0x00070003, 0x3f817fc1, 0x7f80ff80, 0x7f7f8000}),
            (Words{0x000a0004, 0x3f827fff, 0x7f807fff, 0x7f808000}));
  EXPECT_EQ(reduced("min.f16", {0x3c000001, 0x00008000, 0x7c007e02, 0x00018001},
                    {0x7e110003, 0x80000000, 0xfc007e01, 0x00028002}),
            (Words{0x3c000001, 0x80008000, 0xfc007fff, 0x00018002}));
  EXPECT_EQ(reduced("max.f16", {0x3c000001, 0x00008000, 0x7c007e02, 0x00018001},
                    {0x7e110003, 0x80000000, 0xfc007e01, 0x00028002}),
            (Words{0x3c000003, 0, 0x7c007fff, 0x00028001}));
}

TEST(BulkCopy, PrefetchIsAccepted) {
  CopyRun run;
  run.run(
      "  cp.async.bulk.prefetch.L2.global [%rd3], 64;\n"
      "  cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd3], 64, 0;\n");
}

}  // namespace
}  // namespace bw::sim::test::bulk_copy_test
