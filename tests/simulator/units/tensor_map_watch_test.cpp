/// \file
/// Tensor maps that a kernel changes while its copies use them (PTX ISA, "Proxies").
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::tensor_map_watch_test {
namespace {

/// Puts the parameter's map at out + 4096 (%rd11) by ordinary stores of all lanes, with the fences
/// that hand it on.
const std::string kFences =
    "  fence.proxy.tensormap::generic.release.gpu;\n  bar.warp.sync -1;\n"
    "  fence.proxy.tensormap::generic.acquire.gpu [%rd11], 128;\n";
const std::string kPutMap =
    "  shl.b32 %r10, %r0, 2;\n  cvt.u64.u32 %rd10, %r10;\n  add.u64 %rd12, %rd10, %rd1;\n"
    "  ld.b32 %r11, [%rd12];\n  add.u64 %rd11, %rd2, 4096;\n  add.u64 %rd12, %rd10, %rd11;\n"
    "  st.global.b32 [%rd12], %r11;\n" +
    kFences;
const std::string kLoad =
    "  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
    "[%r1], [%rd11, {0, 0}], [%r2];\n";
const std::string kStore =
    "  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd11, {0, 0}], [%r1];\n"
    "  cp.async.bulk.commit_group;\n";
const std::string kReplace =
    "  @%p0 tensormap.replace.tile.global_dim.global.b1024.b32 [%rd11], 1, 16;\n";

void run(const std::string& body, Checks checks = Checks::contract) {
  Settings settings = test_settings();
  settings.checks = checks;
  CopyRun run(2, settings);  // for the room in its output; one CTA runs
  run.cluster = 1;
  run.run(body, CopyRun::plain_map(run.in.address()).encode());
}

void expect_t10(const std::vector<std::string>& parts, const std::string& body) {
  const Report report = expect_fault(FaultKind::contract, parts, [&] { run(body); });
  EXPECT_EQ(report.code, FaultCode::tensor_map_in_flight) << report.format();
  EXPECT_NO_THROW(run(body, Checks::off));
}

TEST(TensorMapWatch, AMapIsChangedUnderALoad) {
  for (const std::string& change :
       {kReplace, std::string("  @%p0 st.global.b32 [%rd11+124], %r0;\n"),
        std::string("  @%p0 atom.global.add.u32 %r20, [%rd11+64], 0;\n"),
        std::string("  @%p0 st.b64 [%rd11], %rd11;\n")})
    expect_t10({"changes the tensor map", "while a copy that reads it is under way",
                "the copy: test.ptx:"},
               kPutMap + expect_bytes(512) + kLoad + change + wait_for_bar());
}

TEST(TensorMapWatch, AMapIsChangedUnderAStore) {
  expect_t10({"while a copy that reads it is under way"},
             kPutMap + kStore + kReplace + "  cp.async.bulk.wait_group 0;\n");
  EXPECT_NO_THROW(run(kPutMap + kStore + "  cp.async.bulk.wait_group 0;\n" + kReplace + kFences));
}

TEST(TensorMapWatch, BehindTheCopyAMapMayBeChanged) {
  EXPECT_NO_THROW(run(kPutMap + expect_bytes(512) + kLoad + wait_for_bar() + kReplace));
  // Bytes next to the map are not part of it.
  EXPECT_NO_THROW(run(kPutMap + expect_bytes(512) + kLoad +
                      "  @%p0 st.global.b32 [%rd11+128], %r0;\n"
                      "  @%p0 st.global.b32 [%rd11+-4], %r0;\n" +
                      wait_for_bar()));
}

TEST(TensorMapWatch, AWaitForAllGroupsIsTheEndOfTheReading) {
  const std::string group = "  @%p0 cp.async.bulk.commit_group;\n";
  const auto body = [&](const std::string& wait) {
    return kPutMap + expect_bytes(512) + kLoad + group + wait + kReplace + wait_for_bar();
  };
  EXPECT_NO_THROW(run(body("  @%p0 cp.async.bulk.wait_group.read 0;\n")));
  expect_t10({"is under way"}, body("  @%p0 cp.async.bulk.wait_group.read 1;\n"));
}

TEST(TensorMapWatch, AChangeThatNoFenceHandsOn) {
  const auto body = [](const std::string& fence) {
    return kPutMap + kReplace + fence + expect_bytes(512) + kLoad + wait_for_bar();
  };
  expect_t10({"was changed, and no fence.proxy.tensormap has handed it on",
              "changed here: test.ptx:", "(PTX ISA, \"Proxies\")"},
             body(""));
  // Release alone, or the acquire of another map.
  expect_t10({"was changed"}, body("  fence.proxy.tensormap::generic.release.gpu;\n"));
  expect_t10({"was changed"}, body("  add.u64 %rd13, %rd11, 128;\n"
                                   "  fence.proxy.tensormap::generic.acquire.gpu [%rd13], 128;\n"));
  EXPECT_NO_THROW(run(body(kFences)));
}

TEST(TensorMapWatch, ACopyWithItsFenceHandsTheMapOn) {
  EXPECT_NO_THROW(run(
      kPutMap + kReplace +
      "  add.u32 %r12, %r1, 1024;\n  add.u32 %r13, %r10, %r12;\n  st.shared.b32 [%r13], %r11;\n"
      "  bar.warp.sync -1;\n"
      "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%rd11], [%r12], 128;\n" +
      expect_bytes(512) + kLoad + wait_for_bar()));
}

}  // namespace
}  // namespace bw::sim::test::tensor_map_watch_test
