#pragma once
/// \file
/// A launch: residency, order of clusters, host threads.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/launch_time.hpp"
#include "common/simulator/clock/tensor_clock.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/machine/earlier_grids.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/limits.hpp"
#include "common/simulator/machine/settings.hpp"

namespace bw::sim {

class Device;
class Kernel;

/// What a launch was asked for.
struct LaunchConfiguration {
  Dim3 grid;                          ///< in CTAs
  Dim3 block;                         ///< in threads
  Dim3 cluster;                       ///< in CTAs; {1,1,1} without clusters
  bool in_clusters = false;           ///< launched with cluster dimensions, if only {1,1,1}
  size_t dynamic_shared_bytes = 0;    ///< of each CTA
  bool non_portable_cluster = false;  ///< cudaFuncAttributeNonPortableClusterSizeAllowed
  size_t dynamic_shared_limit_bytes = kSharedBytesPerBlock;  ///< what the function was allowed
  /// All CTAs must be resident at once, and %envreg1 and 2 hold the address of the workspace that
  /// cooperative_groups' grid barrier uses.
  bool cooperative = false;
  /// A launch whose threads do nothing but read memory, which the host or another kernel may write,
  /// returns as RunStatus::waiting instead of being a livelock.
  bool may_wait = false;
  /// It may begin before the launch in front of it has ended (programmatic dependent launch).
  bool is_dependent = false;
};

class ClusterEndings;
class L2Launch;
class Lockstep;
class IndependentClusters;
class Grid;

/// How a launch ended.
struct LaunchResult {
  /// finished; or why it stopped: then `stuck` holds the machine in its current state.
  RunStatus status = RunStatus::finished;
  Cycle cycles = 0;                ///< simulated time from first start to last exit
  uint64_t warp_instructions = 0;  ///< instructions, counted once a warp
  uint64_t clusters = 0;           ///< along x, y and z
  std::vector<Warning> warnings;   ///< what it let pass, by cluster
  double wall_seconds = 0;         ///< time on the host
  // With a timing model:
  /// `cycles` in cycles of the machine's highest clock, below which it is while tensor cores work,
  /// and what it takes then until the L2 cache has what was written.
  Cycle clock_cycles = 0;
  Cycle alone_cycles = 0;             ///< `cycles`, had no CTA slowed down another after the run
  L2Traffic l2;                       ///< accesses to device memory
  uint64_t memory_read_bytes = 0;     ///< that the L2 cache did not have
  uint64_t memory_written_bytes = 0;  ///< that it has written back
  /// Of a launch that ends by a fault, while its observers are told of the end: the fault.
  const Report* fault = nullptr;
  std::shared_ptr<Grid> stuck;  ///< the grid, where it can't go on
};

/// A launch as it runs.
class Grid {
 public:
  /// Checks the configuration against the kernel and the machine. Throws SimulationError{launch}.
  Grid(Device& device, const Kernel& kernel, const LaunchConfiguration& configuration,
       uint64_t parameters_address);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  /// Runs all clusters on the host's threads. Results do not depend on the number of threads.
  /// Ends with the first cluster (by simulated time and index) that does not finish: its fault is
  /// thrown; one that is stuck is kept. A launch that was left as RunStatus::waiting goes on.
  LaunchResult run();
  /// The cluster that is stuck, after a run that has not finished.
  [[nodiscard]] Cluster& stuck_cluster() { return *stuck_; }
  /// Of a launch that waits: simulated time since any of its clusters has changed anything.
  [[nodiscard]] Cycle idle_cycles() const;
  /// Ends the waiting: the launch is a livelock and holds the cluster that says so.
  LaunchResult report_livelock();

  /// Prints what a running cluster's threads have printed so far, if the order of clusters allows.
  void print_early(Cluster& cluster);

  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  /// Its number among the launches of the device, from 0.
  [[nodiscard]] uint64_t number() const { return number_; }
  /// When the first CTAs may begin, by the device's clock; all other times of a launch count from
  /// there.
  [[nodiscard]] Cycle begin() const { return begin_; }
  /// When griddepcontrol.wait returns in a cluster: 0 where the previous grid has ended by then. A
  /// cluster that follows another one, which has waited, begins after that.
  [[nodiscard]] Cycle previous_grid_ends(uint64_t cluster) const {
    return cluster < resident_clusters_ || lockstep_ ? previous_ends_ : 0;
  }
  /// After a run that has finished: what it and those before it leave to a dependent launch.
  [[nodiscard]] EarlierGrids leave(const EarlierGrids& before) const;
  /// What was asked for.
  [[nodiscard]] const LaunchConfiguration& configuration() const { return configuration_; }
  /// Along x, y and z.
  [[nodiscard]] Dim3 clusters() const { return clusters_; }
  /// With a timing model: how the SMs of the cluster in a place fetch code.
  [[nodiscard]] const CodeFetch::Rate& code_rate(uint64_t slot) const;
  /// The address of the parameters.
  [[nodiscard]] uint64_t parameters_address() const { return parameters_address_; }
  /// Clusters that fit on the machine at once.
  [[nodiscard]] uint64_t resident_clusters() const { return resident_clusters_; }
  /// CTAs that fit on an SM.
  [[nodiscard]] uint32_t ctas_per_sm() const { return ctas_per_sm_; }
  /// CTAs that are on an SM at once, if the launch's are spread over all of them.
  [[nodiscard]] uint64_t ctas_on_sm() const;
  /// What the CTAs on an SM share; null where the launch has no two CTAs on one SM that compete for
  /// anything. Shared by clusters: only to be changed in ordered operations.
  [[nodiscard]] SmUnitState* sm_state(uint32_t sm) {
    return sms_.empty() ? nullptr : sms_[sm].get();
  }
  /// The SM of a CTA of the cluster in a place.
  [[nodiscard]] uint32_t sm_of(uint64_t slot, uint32_t rank) const;
  /// Whether clusters advance in lockstep.
  [[nodiscard]] bool lockstep() const { return lockstep_; }
  /// Cycles without any change of state after which a cluster is left as a livelock.
  [[nodiscard]] Cycle livelock_threshold() const { return livelock_threshold_; }
  /// What a cooperative launch's grid barrier uses; 0 for other launches.
  [[nodiscard]] uint64_t workspace_address() const { return workspace_address_; }
  /// With a timing model: the L2 cache and the memory during this launch; else null.
  [[nodiscard]] L2Launch* l2() { return l2_.get(); }
  /// The values of the parameters, kept for a launch that may wait.
  [[nodiscard]] std::vector<std::byte>& parameters() { return parameters_; }

  /// Cluster launch control: takes the next cluster that has not started, or returns false. Only
  /// called from ordered operations.
  bool take_pending_cluster(uint64_t& cluster_index);
  /// The same for a request of launch control, which may fail although clusters are pending
  /// (Settings::cancel_fails). In the order that holds among clusters.
  bool cancel_pending_cluster(uint64_t& cluster_index);

 private:
  /// Tells the observers that the launch has ended; what one of them throws is thrown when all have
  /// been told.
  void notify_end();
  [[nodiscard]] uint32_t host_threads() const;
  /// Hands the warnings of the clusters up to the first that failed to the result and the device.
  void hand_on_warnings();
  /// Each sets the result's status.
  void run_alone(LaunchResult& result);
  /// Clusters that do not see each other (machine/independent.cpp).
  void run_independent(LaunchResult& result);
  /// Clusters that see each other (machine/lockstep.cpp).
  void run_lockstep(LaunchResult& result);
  friend class Lockstep;
  friend class IndependentClusters;
  /// A cluster has ended, in whatever way: hands on what it leaves to observers and readers. Any
  /// host thread.
  void finish_cluster(Cluster& cluster, RunStatus status);
  /// A cluster has finished: keeps when.
  void note_times(Cluster& cluster);
  /// With a timing model: where and when the places begin, and what they share.
  /// `earlier`: of a dependent launch.
  void share_time(const TimingTable& times, bool ctas_share_sms, const EarlierGrids* earlier);
  /// Finds what code_rate() gives.
  void find_code_rates(const TimingTable& times);
  /// When the first cluster of a place begins.
  [[nodiscard]] Cycle begin_of(uint64_t slot) const;
  /// A dependent launch takes those places first that have room first.
  void find_room(const EarlierGrids& earlier);
  /// All places that it may take, in the order in which it takes them when all are free.
  [[nodiscard]] std::vector<Place> possible_places() const;
  /// When each of the first `count` of `places_` has room.
  [[nodiscard]] std::vector<Cycle> room(const EarlierGrids& earlier, uint64_t count) const;
  /// With a timing model: what clusters share.
  [[nodiscard]] LaunchCapacity capacity() const;
  /// What independent clusters took together, with a timing model.
  [[nodiscard]] Cycle corrected_time(std::vector<DemandProfile>& profiles);

  Device& device_;
  const Kernel& kernel_;
  LaunchConfiguration configuration_;
  uint64_t parameters_address_;
  uint64_t number_;
  Dim3 clusters_;
  uint32_t ctas_per_sm_ = 0;
  uint64_t resident_clusters_ = 0;
  bool lockstep_ = false;
  bool in_steps_ = false;  ///< with a timing model: clusters advance together
  bool can_wait_ = false;
  Cycle livelock_threshold_ = 0;
  CtaResources cta_resources_;
  Cycle begin_ = 0;
  Cycle previous_ends_ = 0;  ///< of a dependent launch
  /// Of a cluster that has ended, in its own time.
  struct OwnTimes {
    Cycle cycles = 0;              ///< until its end
    std::vector<Cycle> triggered;  ///< by CTA: griddepcontrol.launch_dependents, or its end
    std::vector<Cycle> ended;      ///< by CTA
  };
  std::vector<OwnTimes> own_times_;  ///< by cluster
  std::vector<ClusterLife> lives_;   ///< likewise, in the launch's time
  uint64_t workspace_address_ = 0;
  uint64_t next_cluster_ = 0;
  std::vector<std::unique_ptr<SmUnitState>> sms_;   ///< outlives the clusters
  std::vector<Place> places_;                       ///< with a timing model
  std::vector<Cycle> begins_;                       ///< likewise: see begin_of()
  std::vector<uint32_t> gpcs_;                      ///< likewise: of the clusters' places
  std::map<uint32_t, CodeFetch::Rate> code_rates_;  ///< likewise, by GPC
  std::unique_ptr<L2Launch> l2_;                    ///< outlives the clusters
  TensorUse tensor_use_;                            ///< by clusters that have ended
  Cycle writing_cycles_ = 0;  ///< likewise: until all that they have written has been taken
  std::optional<LockstepTime> lockstep_time_;  ///< where several CTAs are on an SM
  std::vector<std::byte> parameters_;
  LaunchResult result_;  ///< of a launch that waits: so far
  std::unique_ptr<ClusterEndings> endings_;
  std::vector<std::unique_ptr<Cluster>> running_;  ///< of those that don't run one by one
  size_t waiting_index_ = 0;                       ///< in running_
  Cycle now_ = 0;
  std::unique_ptr<Cluster> stuck_;
  std::mutex ends_;                                    ///< held while clusters end
  std::map<uint64_t, std::vector<Warning>> warnings_;  ///< of the clusters that have ended
  uint64_t last_warning_ = ~0ull;  ///< the cluster after which others may or may not have run
  uint64_t cancel_requests_ = 0;   ///< of launch control, as far as they are counted
};

}  // namespace bw::sim
