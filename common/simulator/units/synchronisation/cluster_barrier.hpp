#pragma once
/// \file
/// The barrier of a cluster (PTX ISA, "barrier.cluster").

#include <cstdint>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Counts threads. A phase completes when every thread of the cluster that has not exited has
/// arrived; it is seen by the waiting threads kClusterBarrier cycles later.
class ClusterBarrier {
 public:
  explicit ClusterBarrier(Cluster& cluster);
  ~ClusterBarrier();

  /// barrier.cluster.arrive. Throws SimulationError{contract} for a lane that has arrived and not
  /// waited.
  /// `performed`: when the operations that the arrive releases have taken effect; 0: none, or it is
  /// relaxed.
  void arrive(Strand& strand, const Instruction& instruction, LaneMask lanes, Cycle performed);
  /// barrier.cluster.wait, first execution: passes or blocks. Throws for a lane that has not
  /// arrived.
  Flow wait(Strand& strand, const Instruction& instruction, LaneMask lanes);
  /// Lanes of a warp have exited (already removed from warp.live).
  void on_lanes_exit(Warp& warp, LaneMask lanes, Cycle now);

  /// One warp's part, for reports.
  struct WarpState {
    LaneMask arrived = 0;      ///< arrived in the current phase
    LaneMask outstanding = 0;  ///< arrived, and not yet waited
  };
  /// What a warp has done.
  [[nodiscard]] const WarpState& warp_state(uint32_t cta_rank, uint32_t warp) const;
  /// Phases that are complete.
  [[nodiscard]] uint64_t phase() const { return phase_; }
  /// From the last arrival to the release.
  [[nodiscard]] Cycle latency() const;
  /// Threads that have arrived in this phase.
  [[nodiscard]] uint32_t arrived_threads() const { return arrived_threads_; }

 private:
  struct Waiter {
    Strand* strand;
    uint32_t wait_token;
  };
  void prepare();
  /// `last`: who has arrived or exited last.
  void complete_if_due(const Origin& last, Cycle now);
  [[nodiscard]] WarpState& state_of(const Warp& warp);

  Cluster& cluster_;
  std::vector<WarpState> warps_;  ///< empty until the first use
  uint32_t warps_per_cta_ = 0;
  uint32_t live_threads_ = 0;
  uint32_t arrived_threads_ = 0;  ///< of those that live
  bool completing_ = false;       ///< everyone has arrived, the release is on its way
  uint64_t phase_ = 0;
  Cycle performed_ = 0;  ///< when what this phase's arrivals release has taken effect
  std::vector<Waiter> waiters_;
};

}  // namespace bw::sim
