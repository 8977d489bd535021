/// \file
/// What observers are told about order: OrderEvents, operations that take effect later, exact rows.
#include <algorithm>
#include <memory>
#include <set>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"
#include "tests/simulator/observed_kernel.hpp"

namespace bw::sim::test::order_events_test {
namespace {

using Operation = OrderEvent::Operation;

/// What the clusters of a launch told.
struct Told {
  std::vector<OrderEvent> orders;
  std::vector<MbarrierEvent> arrivals;  ///< with an operation_id
  std::vector<GroupEvent> commits;      ///< of tcgen05
  std::vector<uint32_t> address_words;  ///< offsets

  [[nodiscard]] std::vector<OrderEvent> of(Operation operation) const {
    std::vector<OrderEvent> found;
    std::copy_if(orders.begin(), orders.end(), std::back_inserter(found),
                 [=](const OrderEvent& event) { return event.operation == operation; });
    return found;
  }
};

class Listener final : public Observer {
 public:
  explicit Listener(Told& told) : told_(told) {}
  [[nodiscard]] EventKinds wants() const override { return kAllEvents; }
  void on_order(const OrderEvent& event) override { told_.orders.push_back(event); }
  void on_mbarrier(const MbarrierEvent& event) override {
    if (event.operation_id != kNoOperation) told_.arrivals.push_back(event);
  }
  void on_group(const GroupEvent& event) override {
    if (event.unit == GroupEvent::Unit::tensor_core) told_.commits.push_back(event);
  }
  void on_tensor_memory(const TensorMemoryEvent& event) override {
    if (event.operation == TensorMemoryEvent::Operation::alloc)
      told_.address_words.push_back(event.shared_offset_bytes);
  }

 private:
  Told& told_;
};

class Launch final : public LaunchObserver {
 public:
  explicit Launch(Told& told) : told_(told) {}
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster&) override {
    return std::make_unique<Listener>(told_);
  }

 private:
  Told& told_;
};

Told told_by(const std::string& text, const LaunchConfiguration& configuration) {
  Told told;
  Runner runner;
  runner.device().observe(std::make_unique<Launch>(told));
  const auto out = runner.buffer(std::vector<uint32_t>(64, 0));
  const auto in = runner.buffer(std::vector<uint32_t>(64, 0));
  runner.run(text, configuration, out, in);
  return told;
}

TEST(OrderEvents, OfAClusterWithARemoteArrive) {
  // Rank 1 arrives on rank 0's barrier, for which warp 0 of rank 0 has been waiting.
  const Told told = told_by(entry(".param .u64 out, .param .u64 in", R"(
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, bar;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  griddepcontrol.wait;
  bar.warp.sync 0xffffffff;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p1 bra WAIT;
  mapa.shared::cluster.u32 %r3, %r2, 0;
  @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
  bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
END:
  griddepcontrol.launch_dependents;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)",
                                  ".shared .align 8 .b64 bar;\n"),
                            grid(2, 32, 2));
  const auto sent = told.of(Operation::mbarrier_send);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].origin.cta_rank, 1u);
  EXPECT_EQ(sent[0].origin.lanes, 1u);
  EXPECT_EQ(sent[0].cta_rank, 0u);
  EXPECT_EQ(sent[0].origin.instruction->order, MemoryOrder::release);
  EXPECT_EQ(sent[0].origin.instruction->scope, MemoryScope::cluster);
  ASSERT_EQ(told.arrivals.size(), 1u);
  EXPECT_EQ(told.arrivals[0].operation_id, sent[0].id);
  EXPECT_EQ(told.arrivals[0].offset_bytes, sent[0].offset_bytes);

  const auto passed = told.of(Operation::mbarrier_pass);
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed[0].origin.cta_rank, 0u);
  EXPECT_EQ(passed[0].origin.lanes, kAllLanes);
  EXPECT_EQ(passed[0].phase, 0u);
  EXPECT_EQ(passed[0].offset_bytes, sent[0].offset_bytes);
  EXPECT_EQ(passed[0].origin.instruction->order, MemoryOrder::acquire);

  const auto clusters = told.of(Operation::cluster_barrier_pass);
  ASSERT_EQ(clusters.size(), 4u);
  EXPECT_EQ(std::count_if(clusters.begin(), clusters.end(),
                          [](const OrderEvent& event) { return event.phase == 1; }),
            2);
  ASSERT_EQ(told.of(Operation::warp_sync).size(), 2u);
  EXPECT_EQ(told.of(Operation::warp_sync)[0].origin.lanes, kAllLanes);
  EXPECT_EQ(told.of(Operation::grid_wait).size(), 2u);
  EXPECT_EQ(told.of(Operation::grid_launch_dependents).size(), 2u);
}

TEST(OrderEvents, AWarpSyncOfTwoStrandsIsToldOnceForBoth) {
  const Told told = told_by(entry(".param .u64 out, .param .u64 in", R"(
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  mov.u32 %r0, %tid.x;
  setp.lt.u32 %p0, %r0, 16;
  @%p0 bra LOW;
  bar.warp.sync 0xffffffff;
  bra END;
LOW:
  bar.warp.sync 0xffffffff;
END:
  ret;
)"),
                            threads(32));
  const auto met = told.of(Operation::warp_sync);
  ASSERT_EQ(met.size(), 1u);
  EXPECT_EQ(met[0].origin.lanes, kAllLanes);
}

TEST(OrderEvents, WhatTakesEffectLaterNamesItsOperation) {
  const Told told = told_by(observed_kernel(), threads(64));
  ASSERT_EQ(told.commits.size(), 1u);
  ASSERT_EQ(told.arrivals.size(), 2u);  // the load's complete_tx, the commit's arrival
  EXPECT_EQ(told.arrivals[0].operation, MbarrierEvent::Operation::complete_tx);
  EXPECT_EQ(told.arrivals[1].operation, MbarrierEvent::Operation::arrive);
  EXPECT_EQ(told.arrivals[1].operation_id, told.commits[0].id);
  EXPECT_NE(told.arrivals[0].operation_id, told.arrivals[1].operation_id);
  ASSERT_EQ(told.address_words.size(), 1u);
  EXPECT_NE(told.address_words[0], 0u);
}

}  // namespace
}  // namespace bw::sim::test::order_events_test
