/// \file
/// What published measurements say of a B200's memory, from the same program in the simulator: TMA
/// copies by bytes under way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::memory_bandwidth_test {
namespace {

constexpr uint32_t kBoxBytes = 4096;

/// One thread a CTA keeps `slots` boxes under way until it has had `boxes` of its own.
std::string ring() {
  return entry(".param .u64 data, .param .u64 times, .param .u32 slot_count, .param .u32 boxes",
               R"(.shared .align 8 .b64 bars[16];
.reg .u64 p, t0, t1, q; .reg .u32 c, bar, tile, i, n, slots, s, parity, left, end;
.reg .pred more, done;
ld.param.u64 p, [data]; ld.param.u32 slots, [slot_count]; ld.param.u32 n, [boxes];
mov.u32 c, %ctaid.x; mul.lo.u32 i, c, n; mad.wide.u32 p, i, 4096, p;
mov.u32 bar, bars; mov.u32 s, 0;
init:
mbarrier.init.shared.b64 [bar], 1; add.u32 bar, bar, 8; add.u32 s, s, 1;
setp.lt.u32 more, s, slots; @more bra init;
fence.mbarrier_init.release.cluster;
mov.u64 t0, %clock64;
mov.u32 left, n; mov.u32 bar, bars; mov.u32 tile, tiles; mov.u32 s, 0;
fill:
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [p], 4096, [bar];
add.u64 p, p, 4096; add.u32 bar, bar, 8; add.u32 tile, tile, 4096; add.u32 s, s, 1;
sub.u32 left, left, 1; setp.lt.u32 more, s, slots; @more bra fill;
mov.u32 bar, bars; mov.u32 tile, tiles; mov.u32 s, 0; mov.u32 parity, 0; mov.u32 i, 0;
next:
mbarrier.try_wait.parity.shared::cta.b64 done, [bar], parity;
@!done bra next;
setp.eq.u32 more, left, 0; @more bra had;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [p], 4096, [bar];
add.u64 p, p, 4096; sub.u32 left, left, 1;
had:
add.u32 bar, bar, 8; add.u32 tile, tile, 4096; add.u32 s, s, 1; add.u32 i, i, 1;
setp.lt.u32 more, s, slots; @more bra on;
mov.u32 bar, bars; mov.u32 tile, tiles; mov.u32 s, 0; xor.b32 parity, parity, 1;
on:
setp.lt.u32 more, i, n; @more bra next;
mov.u64 t1, %clock64; sub.u64 t1, t1, t0;
ld.param.u64 q, [times]; mad.wide.u32 q, c, 8, q; st.global.u64 [q], t1;
ret;
)",
               ".extern .shared .align 128 .b8 tiles[];");
}

/// TB/s of all SMs, by their own clocks.
double terabytes_per_second(uint32_t slots) {
  Settings settings = test_settings();
  settings.machine = machines().data();  // a B200
  settings.sm_count = settings.machine->sm_count;
  settings.timing = TimingModel::model;
  Runner runner(settings);
  const uint32_t sms = settings.sm_count;
  const uint32_t boxes = std::max(24u, 8 * slots);
  const uint64_t bytes = uint64_t{sms} * boxes * kBoxBytes;
  const uint64_t data = runner.device().memory().allocate(bytes, "data");
  auto times = runner.buffer(std::vector<uint64_t>(sms, 0));
  LaunchConfiguration configuration = grid(sms, 1);
  configuration.dynamic_shared_bytes = size_t{slots} * kBoxBytes;
  runner.run(ring(), configuration, data, times, slots, boxes);
  std::vector<uint64_t> cycles = times.values();
  std::nth_element(cycles.begin(), cycles.begin() + sms / 2, cycles.end());
  const double seconds = settings.nanoseconds_of(static_cast<double>(cycles[sms / 2])) * 1e-9;
  return static_cast<double>(bytes) / seconds * 1e-12;
}

// SemiAnalysis, microbench-blackwell, tma2d_tput_results.csv (May 2026): TB/s of a B200 by
// kilobytes under way in each SM.
TEST(MemoryBandwidth, OfAB200ByBytesUnderWay) {
  constexpr double kTolerance = 0.05;
  EXPECT_NEAR(terabytes_per_second(1), 1.15, kTolerance * 1.15);
  EXPECT_NEAR(terabytes_per_second(2), 2.0, kTolerance * 2.0);
  EXPECT_NEAR(terabytes_per_second(4), 3.6, kTolerance * 3.6);
  EXPECT_NEAR(terabytes_per_second(8), 5.6, kTolerance * 5.6);
  EXPECT_NEAR(terabytes_per_second(16), 7.1, kTolerance * 7.1);
}

}  // namespace
}  // namespace bw::sim::test::memory_bandwidth_test
