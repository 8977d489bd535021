#pragma once
/// \file
/// Races in global memory: what the threads and copies of a cluster do there, what strong accesses
/// order, and what clusters and whole operations do to each other.
///
/// Three shadows lie one above the other. That of a cluster knows every thread. At the cluster's
/// end it is laid over the launch's, in which a cluster is one agent: nothing orders two clusters,
/// so any conflict is a race. At the launch's end that is laid over the device's, in which
/// operations of streams are the agents. Clusters that can synchronise with each other through
/// global memory
/// ("linked") share the first shadow, and run on one host thread at this level.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/simulator/diagnosis/races/detector.hpp"
#include "common/simulator/diagnosis/races/location_order.hpp"
#include "common/simulator/diagnosis/races/polls.hpp"
#include "common/simulator/diagnosis/races/stream_order.hpp"

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
  LaunchRaces(Grid& grid, StreamOperation operation, bool is_programmatic);

  /// Whether the launch may begin before the operation before it in its stream has ended.
  [[nodiscard]] bool is_programmatic() const { return is_programmatic_; }
  /// The shadow that a cluster works on.
  [[nodiscard]] std::shared_ptr<GlobalShadow> shadow_of_cluster();
  /// A cluster's end: its shadow is compared with those of the clusters before it. Called for one
  /// cluster after the other.
  void take(uint64_t cluster, const std::shared_ptr<GlobalShadow>& shadow);
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
  StreamOperation operation_;
  bool is_programmatic_ = false;
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
  void set_next(StreamOperation operation, bool is_programmatic) {
    next_ = std::move(operation);
    next_is_programmatic_ = is_programmatic;
  }
  /// A launch begins.
  [[nodiscard]] std::shared_ptr<LaunchRaces> begin(Grid& grid);
  /// It has ended: what it did is compared with other operations, and remembered.
  void end(std::shared_ptr<const LaunchRaces> launch, Findings& findings);
  /// The host copies or fills memory: bytes that are read and bytes that are written.
  void host_operation(const StreamOperation& operation, std::string name,
                      std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
                      Findings& findings);
  /// Memory is freed: what comes to lie there is something else.
  void forget(uint64_t address, uint64_t size_bytes);

 private:
  /// An operation that has ended.
  struct Ended {
    StreamOperation operation;
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
  std::optional<StreamOperation> next_;
  bool next_is_programmatic_ = false;
  /// Operations that everything after them came behind so far: nothing is compared with them before
  /// one comes that does not.
  std::deque<Ended> waiting_;
  std::vector<Clock> laid_;  ///< the last operation of each chain that is in all_
  std::unique_ptr<GlobalShadow> all_ = std::make_unique<GlobalShadow>();
  std::vector<std::pair<OperationShape, uint64_t>> sources_;  ///< operation and cluster
};

/// Follows what one cluster does in global memory; a part of its detector.
class GlobalRaces final : public Observer {
 public:
  /// Of the detector's cluster.
  GlobalRaces(Detector& detector, std::shared_ptr<LaunchRaces> launch);

  [[nodiscard]] EventKinds wants() const override;
  void on_access(const AccessEvent& event) override;
  void on_fence(const FenceEvent& event) override;
  void on_copy(const CopyEvent& event) override;
  void on_order(const OrderEvent& event) override;
  void on_end(RunStatus status) override;

 private:
  /// Lanes of an instruction that touch memory in one piece.
  struct Run {
    uint64_t address = 0;
    int first_lane = 0, count = 0;
    LaneMask lanes = 0;  ///< where all touch the same bytes; else 0
  };
  /// The order and scope of a strong access.
  struct Strength {
    bool is_strong = false, acquires = false, releases = false, is_volatile = false;
    MemoryScope scope = MemoryScope::unspecified;
  };
  [[nodiscard]] Strength strength_of(const AccessEvent& event) const;
  void check(const AccessEvent& event, LaneMask lanes, const Strength& strength);
  /// Checks, remembers or both what these lanes do in runs_.
  template <bool checks, bool adds, class Found>
  void visit(LaneMask lanes, Touch& touch, uint32_t bytes, Found&& found);
  void order(const AccessEvent& event, LaneMask lanes, const Strength& strength);
  /// All fence.sc follow each other in one order, and each synchronises with the later ones (PTX
  /// ISA, "Fence-SC"), as atomics on one location would.
  void synchronise_fence_sc(const Origin& origin, const Party& self, MemoryScope scope);
  /// cp.async reads through its threads.
  void read_by_threads(const CopyEvent& event);
  void check_map(const CopyEvent& event, const Agent& agent);
  void found(const Conflict& conflict, const Touch& touch, const LaneGroup* group);
  [[nodiscard]] Party party(const Origin& origin) const {
    return {cluster_index_, origin.cta_rank};
  }
  [[nodiscard]] ThreadOrder& thread(const Origin& origin, int lane);
  /// What somebody, maybe of another cluster, has handed on, in this cluster's numbers.
  [[nodiscard]] const View& at_home(const Released& released);
  /// The lanes that touch bytes (a mask) of a block.
  [[nodiscard]] static LaneMask lanes_at(const ShadowEntry& entry, uint32_t bytes);
  [[nodiscard]] Accessor accessor_of(const Origin& origin) const;

  Detector& detector_;
  std::shared_ptr<LaunchRaces> launch_;
  std::shared_ptr<GlobalShadow> shadow_;
  uint64_t cluster_index_ = 0;
  std::unordered_map<uint32_t, ThreadOrder> threads_;      ///< by warp and lane
  std::unordered_map<uint32_t, LaneMask> past_grid_wait_;  ///< by warp
  Polls polls_;
  struct Translated {
    SharedView original;  ///< keeps its address from being used again
    View view;
  };
  std::unordered_map<const View*, Translated> translated_;  ///< see at_home
  struct Numbered {
    const Instruction* instruction = nullptr;
    uint32_t agent = 0;
    bool is_early = false;
    uint32_t number = 0;
  };
  std::array<Numbered, 64> numbered_{};  ///< the latest accessors
  std::vector<Run> runs_;                ///< of the access that is checked
};

}  // namespace bw::sim::races
