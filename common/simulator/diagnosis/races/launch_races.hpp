#pragma once
/// \file
/// Races in global memory between clusters of a launch and between operations of streams.
///
/// There are three levels of shadows. That of a cluster distinguishes threads (global_memory.hpp).
/// At the cluster's end it is merged into the launch's, in which a cluster is one agent: nothing
/// orders two clusters, so any conflict is a race. At the launch's end that is merged into the
/// device's, in which operations of streams are the agents. Clusters that can synchronise with each
/// other through global memory ("linked") share the first shadow, and run on one host thread at
/// this level.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/diagnosis/races/finding.hpp"
#include "common/simulator/diagnosis/races/location_order.hpp"
#include "common/simulator/diagnosis/races/shadow.hpp"
#include "common/simulator/diagnosis/races/stream_order.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim {
class DeviceMemory;
class Kernel;
}  // namespace bw::sim

namespace bw::sim::races {

/// A fence.proxy.tensormap that acquires, of one thread.
struct TensorMapFence {
  uint64_t address = 0;  ///< of the map
  uint32_t warp = 0;     ///< in the cluster
  uint64_t cluster = 0;  ///< the cluster
  LaneMask lanes = 0;    ///< the threads
  Clock clock = 0;       ///< of the warp
  SharedView view;       ///< what they knew
};

/// Global memory as threads see it: of one cluster, or of linked ones.
struct GlobalShadow {
  AccessorTable accessors;             ///< who
  ByteShadow bytes{accessors};         ///< who has accessed what
  LocationTable locations;             ///< what strong accesses have handed on
  std::vector<TensorMapFence> fences;  ///< of tensor maps
};

/// What it takes to describe who accessed: of a kernel, or of a host's copy.
struct OperationShape {
  const Kernel* kernel = nullptr;  ///< null: a copy or a fill by the host
  Dim3 grid;                       ///< in CTAs
  Dim3 cluster;                    ///< in CTAs
  std::string name;                ///< "cudaMemcpyAsync"
};

/// Global memory in one launch: gives each cluster its part, and takes what it leaves.
class LaunchRaces {
 public:
  /// Of a launch that is about to begin; `operation` is its place in its stream.
  LaunchRaces(Grid& grid, std::shared_ptr<StreamOperation> operation);

  /// Its place in its stream.
  [[nodiscard]] const StreamOperation& operation() const { return *operation_; }
  /// The shadow that a cluster works on.
  [[nodiscard]] std::shared_ptr<GlobalShadow> shadow_of_cluster();
  /// A cluster's end: its shadow is compared with those of the clusters before it. Called for one
  /// cluster after the other.
  void take(uint64_t cluster, const std::shared_ptr<GlobalShadow>& shadow);
  /// Of a cluster: whether one of its threads has waited for the grid before, and whether one of
  /// its CTAs has let dependents begin only after that.
  void take_grid_waits(bool has_waited, bool triggers_after_wait) {
    operation_->has_waited = operation_->has_waited || has_waited;
    operation_->triggers_after_wait = operation_->triggers_after_wait || triggers_after_wait;
  }
  /// Whether all clusters have ended.
  [[nodiscard]] bool has_ended() const { return taken_ == clusters_; }
  /// One side of a race, by the cluster that its accessor names.
  [[nodiscard]] RaceSide side_of(const Accessor& accessor, LaneMask lanes) const;
  /// Races between clusters, so far.
  [[nodiscard]] const Findings& findings() const { return findings_; }

 private:
  friend class DeviceRaces;
  DeviceMemory& memory_;
  OperationShape shape_;
  std::shared_ptr<StreamOperation> operation_;
  uint64_t clusters_ = 0, taken_ = 0;
  std::shared_ptr<GlobalShadow> linked_;  ///< of clusters that are linked; else null
  GlobalShadow all_;
  Findings findings_;
};

/// Global memory between the operations of a device's streams.
class DeviceRaces {
 public:
  /// The memory is the device's.
  explicit DeviceRaces(DeviceMemory& memory) : memory_(memory) {}

  /// The order of streams, for who submits operations.
  [[nodiscard]] StreamOrder& order() { return order_; }
  /// The launch that begins next has this place.
  void set_next(std::shared_ptr<StreamOperation> operation) { next_ = std::move(operation); }
  /// A launch begins.
  [[nodiscard]] std::shared_ptr<LaunchRaces> begin(Grid& grid);
  /// It has ended: what it did is compared with other operations, and remembered.
  void end(std::shared_ptr<const LaunchRaces> launch, Findings& findings);
  /// The host copies or fills memory: bytes that are read and bytes that are written.
  void host_operation(std::shared_ptr<StreamOperation> operation, std::string name,
                      std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
                      Findings& findings);
  /// Memory is freed: a later allocation there has no history.
  void forget(uint64_t address, uint64_t size_bytes);

 private:
  /// An operation that has ended.
  struct Ended {
    std::shared_ptr<StreamOperation> operation;
    std::shared_ptr<const LaunchRaces> launch;  ///< of a kernel
    std::string name;                           ///< of the host's
    std::vector<MemoryRange> reads, writes;     ///< of the host's
  };

  void forget_what_is_over();
  /// Compares an operation with what is remembered if any of it may run at the same time.
  void end(Ended ended, Findings& findings);
  /// Lays what an operation did over what others did.
  void lay(const Ended& ended, Findings& findings);
  void lay_kernel(const Ended& ended, Findings& findings);
  void lay_host(const Ended& ended, Findings& findings);
  [[nodiscard]] RaceSide side_of(const Accessor& accessor) const;

  DeviceMemory& memory_;
  StreamOrder order_;
  std::shared_ptr<StreamOperation> next_;
  /// Operations after which all later ones were ordered so far: nothing is compared with them until
  /// one is not.
  std::deque<Ended> waiting_;
  std::vector<Clock> laid_;  ///< the last operation of each chain that is in all_
  std::unique_ptr<GlobalShadow> all_ = std::make_unique<GlobalShadow>();
  std::vector<std::pair<OperationShape, uint64_t>> sources_;  ///< operation and cluster
};

/// "global memory, 16 bytes at 0x7f... (byte 32 of cudaMalloc of 4096 bytes)".
[[nodiscard]] std::string memory_text(DeviceMemory& memory, uint64_t address, uint32_t bytes);
/// What an agent does for which every proxy's order is that of the generic one.
[[nodiscard]] Touch touch_of(const AccessorTable& accessors, uint32_t number, Clock clock,
                             const View& view);

}  // namespace bw::sim::races
