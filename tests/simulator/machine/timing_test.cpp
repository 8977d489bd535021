/// \file
/// What costs simulated time: relations that the model promises, not the values of its constants.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/simulator/clock/costs.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::timing_test {
namespace {

Cycle cycles_of(const std::string& text, uint32_t thread_count) {
  Runner runner;
  auto data = runner.buffer(std::vector<uint32_t>(4096, 1));
  return runner.run(text, threads(thread_count), data).cycles;
}

/// `count` loads that do not depend on each other, then stores of what they gave.
std::string loads_then_store(const std::string& space, int count) {
  std::string body =
      ".shared .align 16 .b8 tile[1024];\n.reg .u64 p; .reg .u32 s, r<16>, sum;\n"
      "ld.param.u64 p, [data]; mov.u32 s, tile; mov.u32 sum, 0;\n";
  const std::string base = space == "global" ? "p" : "s";
  if (space == "shared") body += "st.shared.u32 [s], 1;\n";  // what is loaded first
  for (int i = 0; i < count; ++i)
    body += "ld." + space + ".u32 r" + std::to_string(i) + ", [" + base + "+" +
            std::to_string(4 * i) + "];\n";
  for (int i = 0; i < count; ++i) body += "add.u32 sum, sum, r" + std::to_string(i) + ";\n";
  return entry(".param .u64 data", body + "st.global.u32 [p+512], sum;\nret;\n");
}

TEST(Timing, AStoreWaitsForWhatWasLoaded) {
  const Cycle none = cycles_of(loads_then_store("global", 0), 1);
  const Cycle one = cycles_of(loads_then_store("global", 1), 1);
  EXPECT_GE(one, none + costs::kGlobalLoad);
  const Cycle shared = cycles_of(loads_then_store("shared", 1), 1);
  EXPECT_GE(shared, none + costs::kSharedLoad);
  EXPECT_LT(shared, one);
}

TEST(Timing, LoadsOverlap) {
  const Cycle one = cycles_of(loads_then_store("global", 1), 1);
  const Cycle eight = cycles_of(loads_then_store("global", 8), 1);
  EXPECT_GT(eight, one);
  EXPECT_LT(eight, one + costs::kGlobalLoad);
}

/// Cycles of two loads of one word, of which the second needs the first, with the timing model.
Cycle cycles_of_two_loads(const std::string& opcode) {
  Settings settings = test_settings();
  settings.timing = TimingModel::model;
  Runner runner(settings);
  auto data = runner.buffer(std::vector<uint32_t>(4096, 1));
  const std::string text =
      entry(".param .u64 data",
            ".reg .u64 p, q; .reg .u32 r<4>;\nld.param.u64 p, [data];\n" + opcode +
                " r0, [p];\nand.b32 r1, r0, 0;\ncvt.u64.u32 q, r1;\nadd.u64 q, q, p;\n" + opcode +
                " r2, [q];\nst.global.u32 [p+512], r2;\nret;\n");
  return runner.run(text, threads(1), data).cycles;
}

TEST(Timing, ALaunchCostsByWhatTheDeviceDidBefore) {
  Settings settings = test_settings();
  settings.timing = TimingModel::model;
  Runner runner(settings);
  Device& device = runner.device();
  const std::string text = entry("", "ret;\n");
  const auto launched_in = [&] {
    const Cycle begin = device.clock();
    runner.run(text, threads(1));
    return device.clock() - begin;
  };
  launched_in();  // the code is new
  const Cycle next = launched_in();
  device.take_time();
  const Cycle timed = launched_in();
  device.become_idle();
  device.take_time();  // the device is idle all the same
  const Cycle idle = launched_in();
  EXPECT_LT(next, timed);
  EXPECT_LT(timed, idle);
  EXPECT_EQ(launched_in(), next);
}

TEST(Timing, CodeStaysUntilMoreThanTheCacheHoldsWasExecuted) {
  Runner runner(test_settings());
  Device& device = runner.device();
  constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(device.code_since("a", 16, 40), kUnknown);
  EXPECT_EQ(device.code_since("a", 16, 40), 16u);
  EXPECT_EQ(device.code_since("b", 20, 40), kUnknown);
  EXPECT_EQ(device.code_since("a", 16, 40), 36u);  // both are there
  EXPECT_EQ(device.code_since("c", 20, 40), kUnknown);
  EXPECT_EQ(device.code_since("b", 20, 40), kUnknown);  // evicted by c
  EXPECT_EQ(device.code_since("large", 41, 40), kUnknown);
  EXPECT_EQ(device.code_since("large", 41, 40), kUnknown);
  EXPECT_EQ(device.code_since("b", 20, 40), kUnknown);
}

TEST(Timing, TheFirstLevelCacheServesWeakLoadsAlone) {
  const Cycle plain = cycles_of_two_loads("ld.global.u32");
  for (const char* const weak : {"ld.weak.global.u32", "ld.global.ca.u32", "ld.global.nc.u32"})
    EXPECT_EQ(cycles_of_two_loads(weak), plain) << weak;
  for (const char* const second_level :
       {"ld.global.cg.u32", "ld.global.cv.u32", "ld.relaxed.gpu.global.u32"})
    EXPECT_GT(cycles_of_two_loads(second_level), plain + 100) << second_level;
}

/// The first `lanes` lanes of a warp copy 16 bytes each.
std::string bulk_copies(int lanes) {
  return entry(".param .u64 data",
               ".shared .align 16 .b8 tile[512];\n.shared .align 8 .b64 bar;\n"
               ".reg .u64 p, q; .reg .u32 lane, d, b; .reg .pred copies, first, done;\n"
               "ld.param.u64 p, [data]; mov.u32 lane, %tid.x; mov.u32 d, tile; mov.u32 b, bar;\n"
               "mad.wide.u32 q, lane, 16, p; mad.lo.u32 d, lane, 16, d;\n"
               "setp.eq.u32 first, lane, 0; setp.lt.u32 copies, lane, " +
                   std::to_string(lanes) +
                   ";\n@first mbarrier.init.shared.b64 [b], 1;\n"
                   "@first mbarrier.arrive.expect_tx.shared.b64 _, [b], " +
                   std::to_string(16 * lanes) +
                   ";\nbar.warp.sync 0xffffffff;\n"
                   "@copies cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
                   " [d], [q], 16, [b];\n"
                   "again: mbarrier.try_wait.parity.shared.b64 done, [b], 0;\n"
                   "@!done bra again;\nret;\n");
}

TEST(Timing, TheLanesOfABulkCopyAreIssuedOneAfterTheOther) {
  const Cycle one = cycles_of(bulk_copies(1), 32);
  EXPECT_GE(one, costs::kTmaLoadBase);
  EXPECT_GE(cycles_of(bulk_copies(32), 32), one + 31 * costs::kTmaIssue);
}

/// 128 threads of CTA 0 write 2 KiB, and the first one copies them to the cluster's other CTA, to a
/// place whose distance is `apart` bytes beyond a multiple of 128.
Cycle cycles_of_copy_to_cta(uint32_t apart) {
  Settings settings = test_settings();
  settings.timing = TimingModel::model;
  Runner runner(settings);
  return runner
      .run(entry("",
                 ".shared .align 128 .b8 tile[8192];\n.shared .align 8 .b64 bar;\n"
                 ".reg .u32 t, s, d, b, e, rank; .reg .pred first, sends, waits, done;\n"
                 "mov.u32 t, %tid.x; mov.u32 s, tile; mov.u32 b, bar;\n"
                 "mov.u32 rank, %cluster_ctarank; add.u32 d, s, " +
                     std::to_string(4096 + apart) +
                     ";\nmapa.shared::cluster.u32 d, d, 1; mapa.shared::cluster.u32 e, b, 1;\n"
                     "mad.lo.u32 t, t, 16, s;\nst.shared.v4.u32 [t], {t, t, t, t};\n"
                     "setp.eq.u32 first, t, s; setp.eq.and.u32 sends, rank, 0, first;\n"
                     "setp.eq.u32 waits, rank, 1;\n"
                     "@first mbarrier.init.shared.b64 [b], 1;\n"
                     "fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\n"
                     "@first mbarrier.arrive.expect_tx.shared.b64 _, [b], 2048;\n"
                     "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                     "@sends cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
                     " [d], [s], 2048, [e];\n"
                     "@!waits bra meet;\n"
                     "again: mbarrier.try_wait.parity.shared.b64 done, [b], 0;\n"
                     "@!done bra again;\n"
                     "meet: barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                     "ret;\n"),
           grid(2, 128, 2))
      .cycles;
}

TEST(Timing, CopiesBetweenCtasTakeLongerWhereLinesDoNotFallOnLines) {
  const Cycle aligned = cycles_of_copy_to_cta(0);
  EXPECT_EQ(cycles_of_copy_to_cta(64), aligned);
  const Cycle apart = cycles_of_copy_to_cta(16);
  EXPECT_GT(apart, aligned);
  for (const uint32_t other : {32u, 48u, 80u, 96u, 112u})
    EXPECT_EQ(cycles_of_copy_to_cta(other), apart);
}

TEST(Timing, TheTimeLimitOfAWaitThatIsOverCostsNothing) {
  // Warp 1 would wait ten million nanoseconds; warp 0 arrives at once.
  const std::string text =
      entry(".param .u64 data",
            ".shared .align 8 .b64 bar;\n.reg .u32 t, b; .reg .pred first, waits, done;\n"
            "mov.u32 t, %tid.x; mov.u32 b, bar; setp.eq.u32 first, t, 0;\n"
            "@first mbarrier.init.shared.b64 [b], 1;\nbar.sync 0;\n"
            "setp.ge.u32 waits, t, 32; @waits bra wait;\n"
            "@first nanosleep.u32 100;\n@first mbarrier.arrive.shared.b64 _, [b];\nret;\n"
            "wait: mbarrier.try_wait.parity.shared.b64 done, [b], 0, 10000000;\n"
            "@!done bra wait;\nret;\n");
  constexpr Cycle kFarBelowTheLimit = 2000;
  EXPECT_LT(cycles_of(text, 64), kFarBelowTheLimit);
}

}  // namespace
}  // namespace bw::sim::test::timing_test
