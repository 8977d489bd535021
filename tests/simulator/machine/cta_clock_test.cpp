/// \file
/// What an SM's clock answers with fixed times (BW_SIM_TIMING=simple) and with a table, and what
/// shared memory leaves of the first-level cache.
#include "common/simulator/clock/cta_clock.hpp"

#include <array>

#include <gtest/gtest.h>

#include "common/simulator/clock/cost_port.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/machine_description.hpp"

namespace bw::sim {
namespace {

constexpr size_t kKib = 1024;

/// The SM of a cluster's only CTA.
struct Sm {
  explicit Sm(const TimingTable* times) : clock(times, demand, l2, 0, now) { demand.begin(1, 0); }

  Demand demand;
  L2View l2;
  Cycle now = 0;
  CtaClock clock;
};

const TimingTable& hopper() { return times_of(*find_machine("h100")); }

TEST(CtaClock, CopiesOfFixedTimesShareTheEngine) {
  Sm sm(nullptr);
  // 460 cycles and 6 for each KiB (SemiAnalysis); the second follows the first's bytes.
  EXPECT_EQ(sm.clock.copies.load({.bytes = 16 * kKib, .rows = {}}, 0), 460 + 16 * 6);
  EXPECT_EQ(sm.clock.copies.load({.bytes = 16 * kKib, .rows = {}}, 0), 460 + 32 * 6);
  EXPECT_EQ(sm.clock.copies.store(4 * kKib, {}, 1000), 1000 + 130 + 4 * 52);
  EXPECT_EQ(sm.clock.copies.receive(777, 4 * kKib, true), 777u) << "no way into the SM to wait for";
}

TEST(CtaClock, MmasOfFixedTimesFollowOneAnother) {
  Sm sm(nullptr);
  const TensorCoreCost cost = cost_of({.m = 128, .n = 256, .a_row_bytes = 32, .b_row_bytes = 32});
  EXPECT_EQ(cost.interval, 128u) << "n / 2; its operands take 96 cycles of shared memory";
  EXPECT_EQ(cost.latency, 128u + 136);
  const std::array<CtaClock*, 1> sms = {&sm.clock};
  EXPECT_EQ(sm.clock.tensor_core.completion(sms, 10, cost, 0), 10 + cost.latency);
  EXPECT_EQ(sm.clock.tensor_core.completion(sms, 11, cost, 0), 10 + cost.latency + cost.interval);
}

TEST(CtaClock, FixedTimesCountNothing) {
  Sm sm(nullptr);
  const std::array<CtaClock*, 1> sms = {&sm.clock};
  static_cast<void>(sm.clock.copies.load({.bytes = 16 * kKib, .rows = {}}, 0));
  static_cast<void>(sm.clock.tensor_core.completion(
      sms, 0, cost_of({.m = 128, .n = 128, .a_row_bytes = 32, .b_row_bytes = 32}), 0));
  static_cast<void>(sm.clock.wgmma.completion({.n = 128, .operand_bytes = 8192}, 0, 0));
  for (const double amount : sm.demand.totals(0)) EXPECT_EQ(amount, 0);
  EXPECT_EQ(sm.clock.wait_for_map(1, 5), 0u);
  EXPECT_EQ(sm.clock.init_mbarrier(5), 5u);
  EXPECT_EQ(sm.clock.arrive_at_cluster(0, 5), 5u);
}

TEST(CtaClock, ATableMakesWhatIsSharedWait) {
  Sm sm(&hopper());
  const WgmmaCost mma{.n = 256, .operand_bytes = (64 + 256) * 32};
  const Cycle first = sm.clock.wgmma.completion(mma, 0, 0);
  EXPECT_EQ(sm.clock.wgmma.completion(mma, 0, 0), first + 128) << "the tensor cores are busy";
  EXPECT_EQ(sm.demand.totals(0)[static_cast<size_t>(Resource::tensor_cycles)], 256);
  const Cycle initialised = sm.clock.init_mbarrier(0);
  EXPECT_EQ(sm.clock.init_mbarrier(0), initialised + hopper().mbarrier_init_cycles);
}

TEST(CtaClock, CopiesToAnSmArriveOneAfterTheOther) {
  constexpr uint32_t kBytes = 4 * kKib;
  for (const bool to_several : {false, true}) {
    Sm sm(&hopper());
    const auto receiving =
        static_cast<Cycle>(kBytes / (to_several ? hopper().multicast_bytes_per_cycle
                                                : hopper().tma_load_bytes_per_cycle));
    const auto arrives = [&](Cycle at) { return sm.clock.copies.receive(at, kBytes, to_several); };
    EXPECT_EQ(arrives(10'000), 10'000u);
    EXPECT_EQ(arrives(10'000), 10'000u + receiving) << "the first one's bytes come in before";
    EXPECT_EQ(arrives(20'000), 20'000u);
  }
}

TEST(CtaClock, NamedBarriersCountWarpsOrArrivals) {
  Sm fixed(nullptr), modelled(&hopper());
  EXPECT_EQ(fixed.clock.named_barriers.release(100, 4), 108u) << "two cycles a warp";
  EXPECT_EQ(fixed.clock.named_barriers.release_of_last(100, 4), 100u);
  for (int warp = 0; warp < 4; ++warp) modelled.clock.named_barriers.arrive(100);
  EXPECT_EQ(modelled.clock.named_barriers.release(100, 4),
            static_cast<Cycle>(100 + 4 * static_cast<int64_t>(hopper().named_barrier_warp_cycles) +
                               hopper().named_barrier_cycles));
}

TEST(Costs, WithoutATableOnlyWaysCost) {
  const Costs fixed(nullptr);
  EXPECT_EQ(fixed.fence(MemoryScope::gpu), 0u);
  EXPECT_EQ(fixed.release(MemoryOrder::release, MemoryScope::gpu), 0u);
  EXPECT_EQ(fixed.remote_arrival(), 200u);
  EXPECT_EQ(fixed.cluster_barrier(1), 22u);
  EXPECT_EQ(fixed.cluster_barrier(2), fixed.cluster_barrier(16));
  EXPECT_EQ(fixed.mbarrier_wake(true), 0u);
}

TEST(Costs, ReleasesWaitAsTheirScopeSays) {
  const Costs costs(&hopper());
  EXPECT_EQ(costs.release(MemoryOrder::acquire, MemoryScope::gpu), 0u);
  EXPECT_EQ(costs.release(MemoryOrder::acq_rel, MemoryScope::sys), costs.fence(MemoryScope::gpu));
  EXPECT_LT(costs.fence(MemoryScope::cta), costs.fence(MemoryScope::cluster));
  EXPECT_EQ(costs.cluster_barrier(3) - costs.cluster_barrier(2),
            costs.cluster_barrier(4) - costs.cluster_barrier(3));
}

TEST(FirstLevelCache, HasWhatTheNextCarveOutLeaves) {
  constexpr size_t kAll = 256 * kKib;
  EXPECT_EQ(l1_bytes(kAll, 1, 1 * kKib), (256 - 8) * kKib);
  EXPECT_EQ(l1_bytes(kAll, 1, 100 * kKib), (256 - 100) * kKib);
  EXPECT_EQ(l1_bytes(kAll, 1, 100 * kKib + 1), (256 - 132) * kKib);
  EXPECT_EQ(l1_bytes(kAll, 2, 100 * kKib), (256 - 228) / 2 * kKib) << "200 KiB are 228";
}

}  // namespace
}  // namespace bw::sim
