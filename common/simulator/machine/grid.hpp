#pragma once
/// \file
/// A launch: residency, order of clusters, host threads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/limits.hpp"
#include "common/simulator/machine/settings.hpp"
#include "common/simulator/machine/types.hpp"

namespace bw::sim {

class Device;
class Kernel;

struct LaunchConfiguration {
  Dim3 grid;     ///< in CTAs
  Dim3 block;    ///< in threads
  Dim3 cluster;  ///< in CTAs; {1,1,1} without clusters
  size_t dynamic_shared_bytes = 0;
  bool non_portable_cluster = false;  ///< cudaFuncAttributeNonPortableClusterSizeAllowed
  size_t dynamic_shared_limit_bytes = kSharedBytesPerBlock;
};

class Grid;

struct LaunchResult {
  /// finished; or why it stopped: then `stuck` holds the machine as it stands.
  RunStatus status = RunStatus::finished;
  Cycle cycles = 0;  ///< simulated time from first start to last exit
  uint64_t warp_instructions = 0;
  uint64_t clusters = 0;
  ToleratedUses tolerated;
  double wall_seconds = 0;
  std::shared_ptr<Grid> stuck;
};

class Grid {
 public:
  /// Checks the configuration against the kernel and the machine. Throws SimulationError{launch}.
  Grid(Device& device, const Kernel& kernel, const LaunchConfiguration& configuration,
       uint64_t parameters_address);

  /// Runs all clusters on the host's threads. Results do not depend on the number of threads.
  /// Ends with the first cluster (by simulated time and index) that does not finish: its fault is
  /// thrown; one that is stuck is kept.
  LaunchResult run();
  /// The cluster that is stuck, after a run that has not finished.
  [[nodiscard]] Cluster& stuck_cluster() { return *stuck_; }

  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const LaunchConfiguration& configuration() const { return configuration_; }
  [[nodiscard]] Dim3 clusters() const { return clusters_; }
  [[nodiscard]] uint64_t parameters_address() const { return parameters_address_; }
  /// Clusters that fit on the machine at once.
  [[nodiscard]] uint64_t resident_clusters() const { return resident_clusters_; }
  [[nodiscard]] uint32_t ctas_per_sm() const { return ctas_per_sm_; }
  /// Whether clusters advance in lockstep.
  [[nodiscard]] bool lockstep() const { return lockstep_; }

  /// Cluster launch control: takes the next cluster that has not started, or returns false. Only
  /// called from ordered operations.
  bool take_pending_cluster(uint64_t& cluster_index);

 private:
  [[nodiscard]] uint32_t host_threads() const;
  /// Both set the result's status.
  void run_independent(LaunchResult& result);
  void run_lockstep(LaunchResult& result);

  Device& device_;
  const Kernel& kernel_;
  LaunchConfiguration configuration_;
  uint64_t parameters_address_;
  Dim3 clusters_;
  uint32_t ctas_per_sm_ = 0;
  uint64_t resident_clusters_ = 0;
  bool lockstep_ = false;
  uint64_t next_cluster_ = 0;
  std::unique_ptr<Cluster> stuck_;
};

}  // namespace bw::sim
