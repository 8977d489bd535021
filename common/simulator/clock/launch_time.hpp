#pragma once
/// \file
/// The duration of a launch whose clusters ran one by one: a fluid simulation of their demand on
/// the SMs and on the chip.
///
/// Clusters take the places of the machine in their order, and each CTA leaves its place when it
/// ends. The clusters that are resident at the same time use the resources of an SM (issue slots,
/// shared memory, tensor cores, copies) in turns, and wait for each other even before it is
/// saturated; they get equal parts of the chip's resources (L2, memory). A cluster that gets less
/// than it requests takes longer.
///
/// Clusters that see each other advance together and share the chip while they run. The demand of
/// several of them on one SM is added up (LockstepTime).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/tensor_clock.hpp"

namespace bw::sim {

struct TimingTable;

/// What there is to share.
struct LaunchCapacity {
  uint64_t places = 1;            ///< clusters that are resident at once
  uint32_t ctas_per_cluster = 1;  ///< of each
  uint32_t sms = 1;               ///< CTA r of the cluster in place p is on SM (p * CTAs + r) % sms
  /// Of each place: clusters take free places of one GPC. None: they take what a cluster has left.
  std::vector<uint32_t> gpcs = {};
  Amounts a_cycle{};  ///< of each resource: of an SM, or of the chip
  /// Of each place: through which port its SMs read the L2 cache; none: all through one without
  /// limit.
  std::vector<uint32_t> ports = {};
  double port_a_cycle = 0;  ///< bytes that are read through each
  /// So much later a copy comes where half of what the L2 cache gives is read (L2Queue); 0: none.
  double l2_queue_cycles = 0;
  double copy_cycles = 1;  ///< from asking for a copy until its data are there, on an idle chip
  /// When the first cluster of each place begins; none: at once.
  std::vector<Cycle> begins = {};
  /// For this many cycles the launch gets more of the chip's resources than their capacity, after
  /// requesting less: the requests that queue on the way to them.
  double credit = 0;
  double landing_passes = 0;  ///< of shared memory in a cycle in which copies bring all they can
  Cycle turnover = 0;         ///< from the end of a CTA until the next one in its place begins
  double follow = 0;  ///< of the clusters that follow others: from one begin to the next, at least
};

/// When a cluster was there, in cycles of the launch, and where.
struct ClusterLife {
  double begin = 0;    ///< of its CTAs
  double end = 0;      ///< of its last CTA
  uint32_t port = 0;   ///< through which it has read the L2 cache
  uint64_t place = 0;  ///< of its first CTA
};

/// How a launch went.
struct LaunchTime {
  Cycle cycles = 0;                       ///< from the first start to the last end
  std::array<double, kResources> busy{};  ///< how much of each resource was used, 0 to 1
  TensorUse tensor_use;                   ///< when CTAs have used the tensor cores
  Cycle writing = 0;  ///< after `cycles`, until the chip has taken what the last CTAs wrote
  std::vector<ClusterLife> lives = {};  ///< of its clusters
  double l2_queue = 0;  ///< cycles that copies came later than on an idle chip, in the bytes' mean
};

/// What clusters that advance together want of the SMs. The time that is missing is the mean of the
/// SMs': they wait for each other.
class LockstepTime {
 public:
  explicit LockstepTime(const LaunchCapacity& capacity) : capacity_(capacity) {}
  /// A cluster has run from `start` on in that place.
  void add(const DemandProfile& profile, Cycle start, uint64_t place);
  /// How much longer the launch takes than its clusters, whose CTAs had an SM each.
  [[nodiscard]] Cycle missing() const;

 private:
  LaunchCapacity capacity_;
  std::vector<std::vector<std::array<float, kSmResources>>> intervals_;  ///< by time and SM
};

/// What makes the SMs' clock fall. The chip's resources have clocks of their own, so in a cycle of
/// SMs that multiply they give more.
struct FallingClock {
  const TimingTable* times = nullptr;  ///< how far it falls; null: it does not
  uint32_t sms = 1;                    ///< of the machine
};

/// The time of a launch of clusters with these profiles. The same in every run: only their order
/// counts.
[[nodiscard]] LaunchTime launch_time(std::span<const DemandProfile> clusters,
                                     const LaunchCapacity& capacity,
                                     const FallingClock& clock = {});

}  // namespace bw::sim
