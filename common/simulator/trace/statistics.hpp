#pragma once
/// \file
/// Sums over the warps and units of a cluster: where warps' time went, bytes by path, units.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/simulator/clock/sm_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::trace {

/// The object of a warp's wait.
struct WaitTarget {
  WaitKind kind = WaitKind::none;  ///< which kind of wait
  uint64_t object = 0;  ///< of an mbarrier its offset in shared memory, of a named barrier its id
  /// In the order of the kinds.
  auto operator<=>(const WaitTarget&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Waits for one object.
struct Waits {
  uint64_t times = 0;  ///< how many ended
  Cycle cycles = 0;    ///< their sum; less where other lanes of the warp ran
};

/// Breakdown of the time of warps: the parts add up to `cycles`.
struct WarpSums {
  uint64_t warps = 0;
  Cycle cycles = 0;                   ///< from the start of the CTA to the end of the warp
  uint64_t instructions = 0;          ///< of the PTX text
  uint64_t issued = 0;                ///< machine instructions, a cycle each
  Cycle pipe_stalls = 0;              ///< a pipe was busy with the one before
  Cycle issue_stalls = 0;             ///< another warp of the scheduler issued
  Cycle shared_stalls = 0;            ///< a value from shared memory had not arrived
  Cycle global_stalls = 0;            ///< a value from device memory had not arrived
  Cycle shared_queue_stalls = 0;      ///< the queue of accesses to shared memory was full
  Cycle global_queue_stalls = 0;      ///< likewise for accesses to device memory
  std::map<WaitTarget, Waits> waits;  ///< by their objects
  /// The rest: latencies of the instructions before, and of those that synchronise.
  Cycle fixed = 0;

  /// Adds those of other warps.
  void add(const WarpSums& other);
};

/// Copies of one unit in one direction.
struct CopySums {
  uint64_t copies = 0;
  uint64_t bytes = 0;          ///< that were read
  uint64_t written_bytes = 0;  ///< that were written: a copy to several CTAs writes in each
};

/// The number of a warp: rank of its CTA in the cluster, and number in the CTA.
using WarpNumber = std::pair<uint16_t, uint16_t>;
/// An mbarrier: rank of its CTA, and offset in shared memory.
using BarrierPlace = std::pair<uint16_t, uint32_t>;

/// Sums of clusters.
struct Sums {
  uint64_t ctas = 0;                          ///< that have ended
  Cycle cta_cycles = 0;                       ///< the sum of their times
  std::map<WarpNumber, WarpSums> warps;       ///< by number, over all clusters
  std::map<BarrierPlace, uint32_t> barriers;  ///< the instruction that initialised it
  std::map<std::pair<CopyUnit, CopyDirection>, CopySums> copies;  ///< by unit and direction
  SmTraffic traffic;                         ///< of threads, with a timing model
  std::array<double, kResources> used{};     ///< with a timing model
  uint64_t tensor_memory_read_bytes = 0;     ///< by threads
  uint64_t tensor_memory_written_bytes = 0;  ///< by threads
  uint64_t mmas = 0;                         ///< tcgen05.mma, wgmma of a warpgroup
  uint64_t mma_operations = 0;               ///< multiplications and additions in them

  /// Adds those of another cluster.
  void add(const Sums& other);
};

/// Adds up one cluster's events.
class Statistics final : public Observer {
 public:
  /// Receives the sums when the cluster has ended; see Observer::on_end.
  using Sink = std::function<void(const Sums&)>;
  /// Of a cluster.
  Statistics(Cluster& cluster, Sink sink) : cluster_(cluster), sink_(std::move(sink)) {}

  [[nodiscard]] EventKinds wants() const override;
  /// A CTA starts or ends.
  void on_cta(const CtaEvent& event) override;
  /// A strand goes to sleep or wakes.
  void on_wait(const WaitEvent& event) override;
  /// An mbarrier was operated on.
  void on_mbarrier(const MbarrierEvent& event) override;
  /// A copy was issued, has read or has landed.
  void on_copy(const CopyEvent& event) override;
  /// The tensor core was given work or has done it.
  void on_tensor_core(const TensorCoreEvent& event) override;
  /// Tensor memory was allocated, freed, read or written.
  void on_tensor_memory(const TensorMemoryEvent& event) override;
  void on_finish(const Cluster& cluster) override;
  void on_end(RunStatus status) override;

 private:
  /// The waits of a running warp.
  struct Running {
    std::map<WaitTarget, Waits> waits;
    Cycle counted_until = 0;  ///< waits of its parts at the same time count once
  };
  [[nodiscard]] Running& running(uint16_t rank, uint32_t warp);
  void add_warp(const Cta& cta, const Warp& warp, Cycle start);

  Cluster& cluster_;  ///< invalid once it has ended
  Sink sink_;
  Sums sums_;
  std::vector<Cycle> starts_, ends_;           ///< of the CTAs, by rank
  std::vector<std::vector<Running>> running_;  ///< by rank and warp
};

}  // namespace bw::sim::trace
