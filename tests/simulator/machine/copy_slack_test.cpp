/// \file
/// By how much copies may be late without holding up their cluster, from programs that can be
/// worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::copy_slack_test {
namespace {

constexpr uint32_t kBoxBytes = 32768;
constexpr uint32_t kBoxes = 4;

/// Keeps the demand of the last cluster that finishes.
class Keeper final : public Observer {
 public:
  Keeper(Cluster& cluster, DemandProfile& profile) : cluster_(cluster), profile_(profile) {}
  [[nodiscard]] EventKinds wants() const override { return {}; }
  void on_finish(const Cluster&) override {
    profile_ = cluster_.demand().profile(cluster_.statistics().cycles);
  }

 private:
  Cluster& cluster_;
  DemandProfile& profile_;
};

class Launch final : public LaunchObserver {
 public:
  explicit Launch(DemandProfile& profile) : profile_(profile) {}
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override {
    return std::make_unique<Keeper>(cluster, profile_);
  }

 private:
  DemandProfile& profile_;
};

/// One thread issues four copies at once and waits for them in their order: two of them signal
/// each of two barriers.
DemandProfile two_stages(const char* machine) {
  Settings settings = test_settings();
  settings.machine = find_machine(machine);
  settings.sm_count = settings.machine->sm_count;
  settings.timing = TimingModel::model;
  Runner runner(settings);
  DemandProfile profile;
  runner.device().observe(std::make_unique<Launch>(profile));
  const auto data = runner.buffer(std::vector<uint8_t>(kBoxes * kBoxBytes, 1));
  LaunchConfiguration configuration = grid(1, 1);
  configuration.dynamic_shared_bytes = kBoxes * kBoxBytes;
  runner.run(entry(".param .u64 data", R"(.shared .align 8 .b64 bars[2];
.reg .u64 p; .reg .u32 bar, tile, i; .reg .pred more, done;
ld.param.u64 p, [data]; mov.u32 bar, bars; mov.u32 tile, tiles; mov.u32 i, 0;
mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [bar+8], 1;
fence.mbarrier_init.release.cluster;
stage:
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 65536;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [p], 32768, [bar];
add.u64 p, p, 32768; add.u32 tile, tile, 32768;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [p], 32768, [bar];
add.u64 p, p, 32768; add.u32 tile, tile, 32768;
add.u32 bar, bar, 8; add.u32 i, i, 1; setp.lt.u32 more, i, 2; @more bra stage;
mov.u32 bar, bars;
first:
mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0; @!done bra first;
second:
mbarrier.try_wait.parity.shared::cta.b64 done, [bar+8], 0; @!done bra second;
ret;
)",
                   ".extern .shared .align 128 .b8 tiles[];"),
             configuration, data);
  return profile;
}

// The engine moves one copy after the other. A stage may be late by as long as its first copy
// waited for the copies of the earlier stage; the second copy of a stage delays its own stage only.
TEST(CopySlack, IsTheTimeThatAStageWaitsForEarlierOnesInTheEngine) {
  const TimingTable& times = times_of(*find_machine("b200"));
  const double moving =
      static_cast<double>(times.tma_box_cycles) + kBoxBytes / times.tma_load_bytes_per_cycle;
  const DemandProfile profile = two_stages("b200");
  const std::vector<Amounts>& intervals = profile.intervals.front();
  std::vector<size_t> with_bytes;
  for (size_t i = 0; i < intervals.size(); ++i)
    if (intervals[i][static_cast<size_t>(Resource::l2_read_bytes)] != 0) with_bytes.push_back(i);
  ASSERT_GE(with_bytes.size(), 2u);
  EXPECT_EQ(profile.slack[with_bytes.front()], 0);
  // The last copy begins more than an interval after those of the first stage. Its stage was issued
  // a little later than the first one.
  EXPECT_GT(profile.slack[with_bytes.back()], moving);
  EXPECT_LT(profile.slack[with_bytes.back()], 2 * moving);
}

}  // namespace
}  // namespace bw::sim::test::copy_slack_test
