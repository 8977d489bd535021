/// \file
/// cp.async.bulk.tensor and its relatives, from the PTX ISA: who gets data and signals, and when.
#include <bit>

#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::tensor_copy_test {
namespace {

const std::string kLoad2d =
    "  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
    "[%r1], [%rd1, {0, 4}], [%r2];\n";

TEST(TensorCopy, LoadsABoxAndCompletesTheMbarrier) {
  CopyRun run;
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  run.run(expect_bytes(512) + kLoad2d + wait_for_bar() + write_tile(), map);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(run.out[i], 4 * 32 + i + 1);
  for (uint32_t i = 128; i < kTileWords; ++i) EXPECT_EQ(run.out[i], tile_word(0, i));
}

TEST(TensorCopy, CompletionBeforeExpectIsFine) {
  CopyRun run;
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  run.run(kLoad2d + expect_bytes(512) + wait_for_bar() + write_tile(), map);
  EXPECT_EQ(run.out[0], 129u);
}

TEST(TensorCopy, WithoutTheWaitTheOldDataIsRead) {
  CopyRun run;
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  run.run(expect_bytes(512) + kLoad2d + "  ld.shared.u32 %r10, [%r1];\n" + wait_for_bar() +
              "  @%p0 st.global.u32 [%rd2], %r10;\n",
          map);
  EXPECT_EQ(run.out[0], tile_word(0, 0));
}

TEST(TensorCopy, OutOfRangePartsAreFilledAndCountInFull) {
  CopyRun run;
  MapArguments a = CopyRun::plain_map(run.in.address());
  a.extents = {30, 6};
  const OpaqueMap map = a.encode();
  run.run(expect_bytes(512) + kLoad2d + wait_for_bar() + write_tile(), map);
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t x = 0; x < 32; ++x)
      EXPECT_EQ(run.out[row * 32 + x], row < 2 && x < 30 ? (4 + row) * 32 + x + 1 : 0u);
}

TEST(TensorCopy, SwizzleFollowsTheSharedAddress) {
  CopyRun run;
  MapArguments a = CopyRun::plain_map(run.in.address());
  a.swizzle = TensorMapSwizzle::bytes128;
  const std::string load =
      "  add.u32 %r4, %r1, 384;\n"  // three lines into the pattern
      "  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%r4], [%rd1, {0, 0}], [%r2], 0;\n";
  run.run(expect_bytes(512) + load + wait_for_bar() + write_tile(), a.encode());
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t x = 0; x < 32; ++x) {
      const uint32_t line = 3 + row;
      const uint32_t place = line * 32 + ((x / 4) ^ (line % 8)) * 4 + x % 4;
      EXPECT_EQ(run.out[place], row * 32 + x + 1);
    }
}

TEST(TensorCopy, OneToFiveDimensions) {
  for (size_t rank = 1; rank <= 5; ++rank) {
    CopyRun run;
    MapArguments a;
    a.type = TensorMapType::u32;
    a.address = run.in.address();
    a.extents = {8, 2, 2, 2, 2};
    a.strides = {32, 64, 128, 256};
    a.box = {4, 1, 1, 1, 1};
    a.extents.resize(rank);
    a.strides.resize(rank - 1);
    a.box.resize(rank);
    std::string coordinates = "4";
    uint32_t expected = 4 + 1;
    for (size_t d = 1; d < rank; ++d) {
      coordinates += ", 1";
      expected += 8u << (d - 1);
    }
    run.run(expect_bytes(16) + "  @%p0 cp.async.bulk.tensor." + std::to_string(rank) +
                "d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {" + coordinates +
                "}], [%r2];\n" + wait_for_bar() + write_tile(),
            a.encode());
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(run.out[i], expected + i) << "rank " << rank;
  }
}

TEST(TensorCopy, MulticastWritesAndSignalsEachCtaOfTheMask) {
  for (const uint32_t size : {2u, 4u}) {
    CopyRun run(size);
    const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
    // Rank 0 loads for all but rank 1, which loads for itself.
    const uint32_t others = ((1u << size) - 1) & ~2u;
    const std::string load =
        "  setp.eq.and.u32 %p1, %r3, 0, %p0;\n  setp.eq.and.u32 %p2, %r3, 1, %p0;\n"
        "  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%r1], [%rd1, {0, 0}], [%r2], " +
        std::to_string(others) +
        ";\n"
        "  @%p2 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%r1], [%rd1, {0, 8}], [%r2];\n";
    run.run(expect_bytes(512) + load + wait_for_bar() + write_tile() + cluster_sync(), map);
    for (uint32_t rank = 0; rank < size; ++rank)
      for (uint32_t i = 0; i < 128; ++i)
        EXPECT_EQ(run.out[rank * kTileWords + i], (rank == 1 ? 8 * 32 : 0) + i + 1);
  }
}

TEST(TensorCopy, CtaGroup2SignalsThePairsLeader) {
  CopyRun run(4);
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  // Each CTA loads its own rows; the mbarrier operand has bit 24 cleared, so pair leaders count
  // both.
  const std::string load =
      "  and.b32 %r4, %r2, 0xFEFFFFFF;\n  shl.b32 %r5, %r3, 2;\n"
      "  @%p0 "
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%r1], [%rd1, {0, %r5}], [%r4], 0;\n";
  const std::string leader_waits =
      "  and.b32 %r6, %r3, 1;\n  setp.eq.u32 %p3, %r6, 0;\n"
      "  setp.eq.and.u32 %p4, %r6, 0, %p0;\n"
      "  @%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;\n"
      "  @!%p3 bra AFTER;\n" +
      wait_for_bar() + "AFTER:\n";
  run.run(load + leader_waits + cluster_sync() + write_tile(), map);
  for (uint32_t rank = 0; rank < 4; ++rank)
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(run.out[rank * kTileWords + i], rank * 128 + i + 1);
}

TEST(TensorCopy, CtaGroup2MulticastSignalsTheParityOfTheMbarrier) {
  CopyRun run(4);
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  // Rank 1 sends to ranks 1, 2 and 3 with an mbarrier in rank 0: rank 0 counts once, rank 2 twice.
  const std::string load =
      "  and.b32 %r4, %r2, 0xFEFFFFFF;\n  setp.eq.and.u32 %p1, %r3, 1, %p0;\n"
      "  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.cta_group::2 [%r1], [%rd1, {0, 0}], [%r4], 14;\n";
  const std::string wait =
      "  setp.eq.u32 %p3, %r3, 0;\n  setp.eq.u32 %p4, %r3, 2;\n  mov.u32 %r7, 0;\n"
      "  @%p3 mov.u32 %r7, 512;\n  @%p4 mov.u32 %r7, 1024;\n"
      "  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r7;\n" +
      wait_for_bar();
  run.run(load + wait + cluster_sync() + write_tile(), map);
  for (uint32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(run.out[i], tile_word(0, i));
    for (uint32_t rank = 1; rank < 4; ++rank) EXPECT_EQ(run.out[rank * kTileWords + i], i + 1);
  }
}

const std::string kStoreAndWait =
    "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {16, 2}], [%r1];\n"
    "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";

TEST(TensorCopy, StoresClipAtTheTensorsEnd) {
  CopyRun run;
  MapArguments a = CopyRun::plain_map(run.out.address());
  a.extents = {32, 4};
  run.run(kStoreAndWait, a.encode());
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t x = 0; x < 32; ++x) {
      const bool written = row >= 2 && row < 4 && x >= 16;
      EXPECT_EQ(run.out[row * 32 + x],
                written ? tile_word(0, (row - 2) * 32 + x - 16) : kUntouched);
    }
}

TEST(TensorCopy, TheFirstStoreThroughAMapWaitsForTheMap) {
  Settings settings = test_settings();
  settings.timing = TimingModel::model;
  CopyRun run(1, settings);
  const std::string store =
      "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 0}], [%r1];\n"
      "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
  run.run("  mov.u64 %rd10, %clock64;\n" + store + "  mov.u64 %rd11, %clock64;\n" + store +
              "  mov.u64 %rd12, %clock64;\n  sub.u64 %rd10, %rd11, %rd10;\n"
              "  sub.u64 %rd11, %rd12, %rd11;\n"
              "  @%p0 st.global.v2.u64 [%rd2+2048], {%rd10, %rd11};\n",
          CopyRun::plain_map(run.out.address()).encode());
  const uint32_t first = run.out[512], second = run.out[514];
  EXPECT_GT(first, second);
}

TEST(TensorCopy, ReductionsCombineAllCtas) {
  CopyRun run(4);
  MapArguments a = CopyRun::plain_map(run.out.address());
  a.box = {32, 2};
  for (uint32_t i = 0; i < 64; ++i) run.out[i] = i;
  run.run(
      "  @%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {0, "
      "0}], "
      "[%r1];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n",
      a.encode());
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(run.out[i], i + (1 + 2 + 3 + 4) * 0x1000000u + 4 * i);
  EXPECT_EQ(run.out[64], kUntouched);
}

TEST(TensorCopy, ReductionsOfManyClustersAreOrdered) {
  for (const uint32_t host_threads : {1u, 3u}) {
    Settings settings = test_settings(5);
    settings.host_threads = host_threads;
    CopyRun run(1, settings);
    MapArguments a = CopyRun::plain_map(run.out.address());
    a.type = TensorMapType::f32;
    constexpr uint32_t kCtas = 24;
    for (uint32_t i = 0; i < 128; ++i) run.out[i] = std::bit_cast<uint32_t>(1.0f);
    const std::string body =
        "  mov.u32 %r4, 0x3f800000;\n  shl.b32 %r5, %r0, 2;\n  add.u32 %r5, %r5, %r1;\n"
        "  st.shared.u32 [%r5], %r4;\n  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
        "  @%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd1, {0, 0}], "
        "[%r1];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
    run.runner.run(entry(kCopyParameters, copy_prelude() + body + "  ret;\n"), grid(kCtas, 128),
                   a.encode().bytes, run.out, run.in);
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(std::bit_cast<float>(run.out[i]), 1.0f + kCtas);
  }
}

TEST(TensorCopy, GatherAndScatter) {
  CopyRun run;
  MapArguments a = CopyRun::plain_map(run.in.address());
  a.box = {8, 1};
  run.run(expect_bytes(128) +
              "  @%p0 cp.async.bulk.tensor.2d.tile::gather4.shared::cta.global"
              ".mbarrier::complete_tx::bytes [%r1], [%rd1, {8, 3, 15, 0, 16}], [%r2];\n" +
              wait_for_bar() + write_tile(),
          a.encode());
  const uint32_t rows[] = {3, 15, 0};
  for (uint32_t i = 0; i < 8; ++i) {
    for (uint32_t r = 0; r < 3; ++r) EXPECT_EQ(run.out[8 * r + i], rows[r] * 32 + 8 + i + 1);
    EXPECT_EQ(run.out[24 + i], 0u);
  }
  CopyRun scatter;
  a.address = scatter.out.address();
  scatter.run(
      "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
      "[%rd1, {8, 3, 15, 0, 16}], [%r1];\n  cp.async.bulk.commit_group;\n"
      "  cp.async.bulk.wait_group 0;\n",
      a.encode());
  for (uint32_t i = 0; i < 8; ++i)
    for (uint32_t r = 0; r < 3; ++r)
      EXPECT_EQ(scatter.out[rows[r] * 32 + 8 + i], tile_word(0, 8 * r + i));
  EXPECT_EQ(scatter.out[16 * 32 + 8], kUntouched);
}

TEST(TensorCopy, PrefetchesChangeNothing) {
  CopyRun run;
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  run.run(
      "  prefetch.tensormap [%rd1];\n"
      "  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 0}];\n" +
          write_tile(),
      map);
  EXPECT_EQ(run.out[0], tile_word(0, 0));
}

TEST(TensorCopy, SharedVariablesByNameAreTheOwnCtas) {
  CopyRun run(2);
  const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
  run.run(expect_bytes(512) +
              "  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
              "[tile+512], [%rd1, {0, 0}], [bar];\n" +
              wait_for_bar() + write_tile() + cluster_sync(),
          map);
  for (uint32_t rank = 0; rank < 2; ++rank)
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(run.out[rank * kTileWords + 128 + i], i + 1);
}

TEST(TensorCopy, EverySeedDeliversTheSame) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CopyRun run(2, test_settings(seed));
    const OpaqueMap map = CopyRun::plain_map(run.in.address()).encode();
    run.run(expect_bytes(512) + kLoad2d + wait_for_bar() + write_tile(), map);
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(run.out[kTileWords + i], 128 + i + 1);
  }
}

}  // namespace
}  // namespace bw::sim::test::tensor_copy_test
