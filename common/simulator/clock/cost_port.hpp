#pragma once
/// \file
/// The port through which units learn what their operations cost: by the machine's table, or with
/// TimingModel::simple by fixed times. Units know no table. What depends on what else goes on in an
/// SM is asked of its clock (clock/cta_clock.hpp).

#include <algorithm>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/tensor_clock.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/isa/memory_order.hpp"

namespace bw::sim {

/// What operations cost in cycles, beyond the issue cost of their instruction.
class Costs {
 public:
  /// By a table; null: fixed times.
  explicit Costs(const TimingTable* table) : table_(table) {}

  /// Whether operations also wait for what others do on the SM and in the L2 cache.
  [[nodiscard]] bool has_model() const { return table_ != nullptr; }

  // Issue.
  /// From the copy of one lane to that of the next.
  [[nodiscard]] Cycle next_copy() const {
    return has_model() ? table_->tma_prepare_cycles : costs::kTmaIssue;
  }
  /// A tcgen05.mma.
  [[nodiscard]] Cycle tensor_issue() const {
    return has_model() ? table_->tcgen05_issue_cycles : 0;
  }
  /// An arrival at an mbarrier.
  [[nodiscard]] Cycle mbarrier_arrival() const {
    return has_model() ? table_->mbarrier_arrive_cycles : 0;
  }
  /// setmaxnreg.inc that has its registers. `has_waited`: they were not free at first.
  [[nodiscard]] Cycle registers_taken(bool has_waited) const {
    if (!has_model()) return 0;
    return has_waited ? table_->register_grant_cycles : table_->register_take_cycles;
  }
  /// setmaxnreg.dec.
  [[nodiscard]] Cycle registers_given() const {
    return has_model() ? table_->register_give_cycles : 0;
  }

  // Loads.
  /// A load or store that is ordered among all clusters of the grid.
  [[nodiscard]] Cycle ordered_access() const {
    return has_model() ? table_->l2_load_latency : costs::kGlobalLoad;
  }
  /// An atomic that is ordered among all clusters of the grid.
  [[nodiscard]] Cycle ordered_atomic() const {
    return has_model() ? table_->global_atomic_latency : costs::kGlobalAtomic;
  }
  /// How much longer the cycles since a cluster has begun take, in cycles of the machine's highest
  /// clock: a part `sms` of the SMs does as it does.
  [[nodiscard]] double clock_delay(const Demand& cluster, Cycle now, double sms) const {
    return has_model() ? tensor_clock_delay(cluster, now - cluster.start(), sms, *table_) : 0;
  }

  // Copies.
  /// A copy from shared memory, from when that has been read until the write can be seen: nothing;
  /// without a model taken as a trip to the L2 cache.
  [[nodiscard]] Cycle copy_written() const { return has_model() ? 0 : costs::kGlobalLoad; }

  // Order and waits.
  /// A fence at that scope. An SM has one first-level cache, so that all scopes wider than a CTA
  /// meet in the L2 cache.
  [[nodiscard]] Cycle fence(MemoryScope scope) const {
    const bool is_near = scope == MemoryScope::cta || scope == MemoryScope::unspecified;
    return has_model() && !is_near ? table_->membar_gpu_cycles : 0;
  }
  /// How long an access of that order waits before it starts: until all threads in its scope can
  /// see what its thread has written.
  [[nodiscard]] Cycle release(MemoryOrder order, MemoryScope scope) const {
    const bool releases =
        order == MemoryOrder::release || order == MemoryOrder::acq_rel || order == MemoryOrder::sc;
    return releases ? fence(scope) : 0;
  }
  /// A proxy fence.
  [[nodiscard]] Cycle proxy_fence() const { return has_model() ? table_->proxy_fence_cycles : 0; }
  /// A test of an mbarrier's phase that does not suspend: until the answer can be used.
  [[nodiscard]] Cycle mbarrier_answer() const {
    return has_model() ? table_->mbarrier_try_cycles : 0;
  }
  /// From the end of a phase until lanes that wait go on. `is_part`: others of their warp wait for
  /// them after a branch.
  [[nodiscard]] Cycle mbarrier_wake(bool is_part) const {
    if (!has_model()) return 0;
    return table_->mbarrier_wake_cycles + (is_part ? table_->mbarrier_part_wake_cycles : 0);
  }
  /// An arrival's way to another CTA of the cluster.
  [[nodiscard]] Cycle remote_arrival() const {
    return has_model() ? table_->remote_arrive_cycles : costs::kRemoteArrive;
  }
  /// A wait for the cluster's barrier that passes.
  [[nodiscard]] Cycle cluster_wait() const { return has_model() ? table_->cluster_wait_cycles : 0; }
  /// From the last arrival at the barrier of a cluster of that many CTAs until the warps continue.
  [[nodiscard]] Cycle cluster_barrier(uint32_t ctas) const {
    constexpr uint32_t kFewestCtas = 2;
    // A cluster of one meets as at a named barrier.
    if (ctas < kFewestCtas) return costs::kBarrier;
    if (!has_model()) return costs::kClusterBarrier;
    return table_->cluster_barrier_cycles;
  }
  /// From the arrival of the last diverged lanes of a warp at their reconvergence point until all
  /// of them continue.
  [[nodiscard]] Cycle reconvergence() const {
    return has_model() ? table_->reconvergence_cycles : 0;
  }

 private:
  const TimingTable* table_;
};

}  // namespace bw::sim
