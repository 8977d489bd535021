/// \file
/// Every fault that bulk and tensor copies can raise.
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::copy_fault_test {
namespace {

std::string bulk_load(const std::string& operands) {
  return "  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " + operands +
         ";\n" + cluster_sync();
}

TEST(BulkFault, SizeAndAlignment) {
  expect_copy_fault({"bulk copy of 0 bytes", "multiple of 16"},
                    bulk_load("[%r1], [%rd3], 0, [%r2]"));
  expect_copy_fault({"bulk copy of 24 bytes"}, bulk_load("[%r1], [%rd3], 24, [%r2]"));
  expect_copy_fault({"misaligned", "16"}, bulk_load("[%r1+8], [%rd3], 16, [%r2]"));
  expect_copy_fault({"misaligned", "16"}, bulk_load("[%r1], [%rd3+4], 16, [%r2]"));
  expect_copy_fault({"misaligned", "8"}, bulk_load("[%r1], [%rd3], 16, [%r2+4]"));
}

TEST(BulkFault, OutOfBounds) {
  expect_copy_fault({"out of bounds"}, bulk_load("[%r1+4080], [%rd3], 8192, [%r2]"));
  expect_copy_fault({"out of bounds"}, bulk_load("[%r1], [%rd3+16368], 32, [%r2]"));
  expect_copy_fault({"out of bounds"},
                    "  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2+4080], [%r1], 32;\n");
}

TEST(BulkFault, Mbarrier) {
  expect_copy_fault({"no mbarrier is initialised", "mbarrier.init"},
                    bulk_load("[%r1], [%rd3], 16, [%r1]"));
  expect_copy_fault(
      {"the data goes to CTA rank 0, the mbarrier is in CTA rank 1"},
      "  setp.eq.and.u32 %p0, %r3, 0, %p0;\n  mapa.shared::cluster.u32 %r4, %r2, 1;\n" +
          bulk_load("[%r1], [%rd3], 16, [%r4]"),
      nullptr, 2);
}

TEST(BulkFault, CtaThatDoesNotExist) {
  expect_copy_fault({"names CTA rank 5", "cluster of 2"},
                    "  or.b32 %r4, %r1, 0x5000000;\n" + bulk_load("[%r4], [%rd3], 16, [%r2]"),
                    nullptr, 2);
}

TEST(BulkFault, OwnCtaAsRemoteDestination) {
  expect_copy_fault({"own shared memory", "another CTA"},
                    "  @%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                    "[%r1+64], [%r1], 16, [%r2];\n");
}

TEST(BulkFault, MulticastMask) {
  const std::string load =
      "  mov.u16 %rs1, MASK;\n"
      "  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%r1], [%rd3], 16, [%r2], %rs1;\n" +
      cluster_sync();
  const auto with = [&](const std::string& mask) {
    std::string text = load;
    return text.replace(text.find("MASK"), 4, mask);
  };
  expect_copy_fault({"multicast mask is 0"}, with("0"), nullptr, 2);
  expect_copy_fault({"multicast mask 0x5", "beyond the cluster of 2"}, with("5"), nullptr, 2);
}

TEST(BulkFault, ExitedCta) {
  // Rank 1 leaves at once; rank 0 sends to it later, or had sent to it before.
  const std::string rank_1_leaves = "  setp.eq.u32 %p1, %r3, 1;\n  @%p1 ret;\n";
  const std::string send =
      "  mapa.shared::cluster.u32 %r4, %r1, 1;\n  mapa.shared::cluster.u32 %r5, %r2, 1;\n"
      "  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd3], 16, "
      "[%r5];\n";
  expect_copy_fault({"CTA rank 1", "exited"},
                    rank_1_leaves + "  nanosleep.u32 4000;\n" + send + "  nanosleep.u32 4000;\n",
                    nullptr, 2);
  expect_copy_fault(
      {"CTA rank 1", "exited", "is its destination"},
      "  setp.eq.and.u32 %p0, %r3, 0, %p0;\n" + send + rank_1_leaves + "  nanosleep.u32 4000;\n",
      nullptr, 2);
}

TEST(BulkFault, StoreNotWaitedForAtTheEndOfItsThread) {
  const std::string store =
      "  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;\n";
  const std::string commit = "  cp.async.bulk.commit_group;\n", late = "  nanosleep.u32 9000;\n";
  // Whether the store is through by then decides nothing, nor does a wait for an older group.
  for (const std::string& rest :
       {std::string(), commit, commit + late, late,
        commit + store + commit + "  cp.async.bulk.wait_group.read 1;\n" + late})
    expect_copy_fault({"CTA rank 0", "without having waited", "wait_group.read"}, store + rest);
  CopyRun run;
  EXPECT_NO_THROW(run.run(store + commit + "  cp.async.bulk.wait_group.read 0;\n"));
}

TEST(BulkFault, FormsWithoutMeaningAreRefused) {
  const auto refused = [](const std::string& part, const std::string& body) {
    CopyRun run;
    expect_fault(FaultKind::unsupported, {part}, [&] { run.run(body); });
  };
  refused("needs .noftz",
          "  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd2], [%r1], 16;\n");
  refused("has no .inc of .s32",
          "  cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.s32 [%rd2], [%r1], 16;\n");
  refused("has no .min of .u64",
          "  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u64 "
          "[%r1], [%r1], 16, [%r2];\n");
  refused("ignore_oob",  // the destination is the CTA's own shared memory
          "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], "
          "[%rd3], 16, 0, 0, [%r2];\n");
  refused("has 2 im2col offsets instead of 1",
          "  cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], "
          "[%rd1, {0, 0, 0}], [%r2], {%rs1, %rs1};\n");
  refused("coordinates instead of 2",
          "  cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], "
          "[%rd1, {0, 0, 0}], [%r2];\n");
}

std::string load_2d(const std::string& coordinates, const std::string& destination = "%r1",
                    const std::string& barrier = "%r2") {
  return "  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [" +
         destination + "], [%rd1, {" + coordinates + "}], [" + barrier + "];\n" + cluster_sync();
}

std::string store_2d(const std::string& coordinates) {
  return "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {" + coordinates +
         "}], [%r1];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
}

TEST(TensorFault, TheMap) {
  expect_copy_fault({"aren't a tensor map"}, load_2d("0, 0"));
  const MapArguments map = CopyRun::plain_map(0);
  expect_copy_fault({"misaligned", "64"}, "  add.u64 %rd1, %rd1, 32;\n" + load_2d("0, 0"), &map);
  expect_copy_fault({"not in parameter, constant or global memory"},
                    "  cvt.u64.u32 %rd1, %r1;\n" + load_2d("0, 0"), &map);
  expect_copy_fault({"aren't a tensor map"}, "  prefetch.tensormap [%rd1];\n");
}

TEST(TensorFault, RankMismatch) {
  const MapArguments map = CopyRun::plain_map(0);
  expect_copy_fault(
      {"a .3d instruction with a 2-D tensor"},
      "  @%p0 cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r1], [%rd1, {0, 0, 0}], [%r2];\n",
      &map);
}

TEST(TensorFault, Coordinates) {
  const MapArguments map = CopyRun::plain_map(0);
  expect_copy_fault({"coordinate 2 of dimension 0", "multiple of 16 bytes"}, load_2d("2, 0"), &map);
  expect_copy_fault({"coordinate -2 of dimension 0"}, load_2d("-2, 0"), &map);
  expect_copy_fault({"a store to coordinate -1"}, store_2d("0, -1"), &map);
}

TEST(TensorFault, SharedMemory) {
  const MapArguments map = CopyRun::plain_map(0);
  expect_copy_fault({"misaligned", "128"}, "  add.u32 %r4, %r1, 64;\n" + load_2d("0, 0", "%r4"),
                    &map);
  expect_copy_fault({"out of bounds", "512 bytes"},
                    "  add.u32 %r4, %r1, 3968;\n" + load_2d("0, 0", "%r4"), &map);
  expect_copy_fault({"no mbarrier is initialised"}, load_2d("0, 0", "%r1", "%r1+8"), &map);
}

TEST(TensorFault, TheMapDescribesMoreThanTheAllocation) {
  MapArguments map = CopyRun::plain_map(0);
  map.extents = {32, 1024};
  expect_copy_fault({"more than its allocation holds", "extents (32, 1024)", "test buffer"},
                    load_2d("0, 126"), &map);
  map.address = 0x7000;
  expect_copy_fault({"not in device memory"}, load_2d("0, 0"), &map);
}

TEST(TensorFault, TheMapDescribesFreedMemory) {
  CopyRun run;
  MapArguments map = CopyRun::plain_map(0);
  {
    const auto freed = run.runner.buffer(std::vector<uint32_t>(kTileWords));
    map.address = freed.address();
  }
  const Report report =
      expect_fault(FaultKind::contract, {"in memory that has been freed: it was test buffer"},
                   [&] { run.run(load_2d("0, 0"), map.encode()); });
  EXPECT_EQ(report.device_error, DeviceError::illegal_address);
}

TEST(TensorFault, CtaGroup) {
  const MapArguments map = CopyRun::plain_map(0);
  const std::string to_rank_0 = "  and.b32 %r4, %r2, 0xFEFFFFFF;\n";
  expect_copy_fault({"the data goes to CTA rank 1, the mbarrier is in CTA rank 0", ".cta_group::2"},
                    to_rank_0 + load_2d("0, 0", "%r1", "%r4"), &map, 2);
  const std::string pair_load =
      "  @%p0 "
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 "
      "[%r1], [%rd1, {0, 0}], [%r4];\n" +
      cluster_sync();
  expect_copy_fault({"cluster of 1 CTA,", "no pairs"}, to_rank_0 + pair_load, &map, 1);
  expect_copy_fault({"in its peer"}, "  and.b32 %r4, %r2, 0xFFFFFF;\n" + pair_load, &map, 4);
}

TEST(TensorFault, Restrictions) {
  MapArguments map = CopyRun::plain_map(0);
  map.swizzle = TensorMapSwizzle::bytes128_atom32_flip8;
  expect_copy_fault({"8-byte flip"}, store_2d("0, 0"), &map);
  map = CopyRun::plain_map(0);
  map.type = TensorMapType::u8;
  expect_copy_fault({"a reduction .add of elements of type u8"},
                    "  @%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group "
                    "[%rd1, {0, 0}], [%r1];\n",
                    &map);
  map.type = TensorMapType::u6x16_align16;
  map.extents = {256, 32};
  map.strides = {192};
  map.box = {128, 2};
  expect_copy_fault({"the box starts at coordinate 64", "multiple of 128"}, load_2d("64, 0"), &map);
  for (const char* const beside : {"127", "129", "-1"})
    expect_copy_fault({"multiple of 128"}, load_2d(std::string(beside) + ", 0"), &map);
  expect_copy_fault({"stores of the padded type 16U6_ALIGN16B"}, store_2d("0, 0"), &map, 1,
                    FaultKind::unsupported);
  map = CopyRun::plain_map(0);
  expect_copy_fault({"gather4", "1 row"},
                    "  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4"
                    ".mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 1, 2, 3, 4}], [%r2];\n",
                    &map);
}

}  // namespace
}  // namespace bw::sim::test::copy_fault_test
