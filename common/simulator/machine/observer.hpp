#pragma once
/// \file
/// Events of the machine, and the interface that receives them.
///
/// Observers change nothing: results, cycles and order are the same with and without them. An
/// observer belongs to one cluster and is called by the one host thread that runs the cluster, so
/// it needs no locks; the events of a cluster come in the same order in every run with the same
/// seed, whatever the number of host threads. They come in the order of execution, which is the
/// order of simulated time except for instructions that run ahead (register instructions, fences)
/// and for MMAs, whose completion is reported when it is observed: an observer that needs strict
/// time order sorts by cycle and keeps the order of ties.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

class Cluster;
class Grid;
struct Cta;
struct LaunchResult;
struct Wait;
enum class Wake : uint8_t;

/// The end of a cluster's run, or of a launch.
enum class RunStatus : uint8_t {
  finished,       ///< every thread has exited and nothing is in flight
  reached_limit,  ///< it has reached its time limit and can resume
  deadlock,       ///< no thread can run and nothing is in flight
  livelock,       ///< threads run without any change of state that others could see
  cycle_limit,    ///< it still ran after Settings::cycle_limit
  waiting,        ///< threads read memory again and again that only the host or another kernel can
                  ///< change; the launch can go on (LaunchConfiguration::may_wait)
  fault,          ///< a rule was broken: the run ended with a SimulationError
};
/// Whether a cluster is unfinished and needs a diagnosis.
[[nodiscard]] constexpr bool is_stuck(RunStatus status) {
  return status == RunStatus::deadlock || status == RunStatus::livelock ||
         status == RunStatus::cycle_limit;
}

/// Kinds of events that an observer can request; an unrequested event costs one test.
enum class EventKind : uint8_t {
  cta,
  run,
  wait,
  mbarrier,
  barrier,
  copy,
  tensor_core,
  tensor_memory,
  group,
  fence,
  access,
  order,      ///< orders threads and units, and is not one of the above (OrderEvent)
  footprint,  ///< no events of its own: copies and tensor-core events have exact ranges
};
/// A set of them, one bit each.
using EventKinds = uint32_t;
/// The set of these kinds.
template <class... Kinds>
[[nodiscard]] constexpr EventKinds event_kinds(Kinds... kinds) {
  return (EventKinds{0} | ... | (EventKinds{1} << static_cast<int>(kinds)));
}
inline constexpr EventKinds kAllEvents = ~EventKinds{0};  ///< every kind

/// For an event that belongs to no operation of other events.
inline constexpr uint64_t kNoOperation = ~uint64_t{0};

/// The actor: some lanes of a warp by an instruction. Later actions of an asynchronous unit have
/// the origin of the instruction that issued them.
struct Origin {
  const Instruction* instruction = nullptr;
  uint16_t cta_rank = 0;  ///< rank of the CTA in its cluster
  uint16_t warp = 0;      ///< number of the warp in its CTA
  LaneMask lanes = 0;     ///< the threads of the warp that take part
};

/// Bytes that an operation reads or writes.
struct MemoryRange {
  AddressSpace space = AddressSpace::global;  ///< global or shared_cta
  uint16_t cta_rank = 0;                      ///< whose shared memory
  uint64_t address = 0;                       ///< device address, or offset in the shared window
  /// From the first to the last byte; rows of a tensor copy or of an MMA's operand may leave gaps.
  uint64_t size_bytes = 0;
};

/// Lanes and columns of a CTA's Tensor Memory that an operation reads or writes.
struct TensorRange {
  uint16_t cta_rank = 0;  ///< whose Tensor Memory
  uint16_t lane = 0;      ///< the first lane
  uint16_t lanes = 0;
  uint16_t column = 0;  ///< the first column
  uint16_t columns = 0;
  bool reads = false;     ///< whether it is read
  bool writes = false;    ///< whether it is written
  const char* role = "";  ///< "D", "A", "scale factors of B", ...
};

/// A CTA begins or has ended.
struct CtaEvent {
  static constexpr EventKind kKind = EventKind::cta;  ///< the kind under which observers ask for it
  const Cta& cta;
  Cycle cycle = 0;
  bool starts = false;  ///< whether it starts or ends
};

/// A strand has executed instructions of one source line (one `.loc`).
struct RunEvent {
  static constexpr EventKind kKind = EventKind::run;  ///< the kind under which observers ask for it
  Origin origin{};                                    ///< the first instruction
  Cycle from = 0;                                     ///< the first cycle
  Cycle to = 0;                                       ///< the last cycle
  uint32_t instructions = 0;                          ///< that it executed
};

/// A strand suspends (`wakes` false) or will run again at `cycle`.
struct WaitEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::wait;
  Origin origin{};  ///< who did it, and where
  Cycle cycle = 0;
  const Wait& wait;    ///< what it waits or has waited for
  bool wakes = false;  ///< whether this ends the wait
  Wake wake{};         ///< when it wakes: why
};

/// An operation on an mbarrier, reported with the state after it and, if it completes the phase,
/// before that: the completion is an event of its own.
struct MbarrierEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::mbarrier;
  /// What can be done.
  enum class Operation : uint8_t {
    init,
    invalidate,
    arrive,
    arrive_drop,
    expect_tx,
    complete_tx,
    increment_pending,  ///< cp.async.mbarrier.arrive without .noinc
    complete,           ///< the phase `phase` is complete
    test,               ///< one execution of test_wait or try_wait
  };
  Operation operation = Operation::init;
  Origin origin{};  ///< who did it, and where
  Cycle cycle = 0;
  uint16_t cta_rank = 0;      ///< of the CTA that holds the barrier
  uint32_t offset_bytes = 0;  ///< in its shared window
  uint32_t slot = 0;          ///< small number of the object, unique in its CTA while it lives
  uint64_t phase = 0;         ///< number of the phase that the operation belongs to
  uint32_t expected = 0;      ///< arrivals of a phase
  int32_t pending = 0;        ///< arrivals that are missing
  /// Bytes that were announced and have not landed; negative where they landed first.
  int64_t tx_bytes = 0;
  uint64_t amount = 0;       ///< init, arrivals: count; expect_tx, complete_tx: bytes
  int64_t waited_phase = 0;  ///< test: number of the phase asked for; -1: before the first
  bool done = false;         ///< test: that phase is complete
  bool may_suspend = false;  ///< test: try_wait
  /// Arrivals and complete_tx of what was issued earlier: the number of the operation
  /// (CopyDescription::id, GroupEvent::id, OrderEvent::id); none for what a thread does at once.
  uint64_t operation_id = kNoOperation;
};

/// A named barrier of a CTA or the cluster's barrier.
struct BarrierEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::barrier;
  Origin origin{};  ///< of a completion: of the arrival or exit that completed it
  Cycle cycle = 0;
  bool of_cluster = false;  ///< whether it is the cluster's
  bool completes = false;   ///< whether the phase completes
  bool waits = false;       ///< an arrival that also waits
  uint32_t id = 0;          ///< of a named barrier
  uint32_t threads = 0;
  uint64_t phase = 0;  ///< number of the phase, from 0
};

/// Which unit copies.
enum class CopyUnit : uint8_t { tensor, bulk, cp_async };
/// From where to where.
enum class CopyDirection : uint8_t { load, store, reduce, shared_to_shared };

/// An mbarrier that a copy signals with complete_tx.
struct CopySignal {
  uint16_t cta_rank = 0;      ///< rank of the CTA in its cluster
  uint32_t offset_bytes = 0;  ///< from the beginning, in bytes
  uint32_t bytes = 0;
};

/// What a copy moves. `id` is unique in its cluster.
struct CopyDescription {
  uint64_t id = 0;  ///< number that joins the events of one
  CopyUnit unit = CopyUnit::bulk;
  CopyDirection direction = CopyDirection::load;  ///< from where to where
  uint64_t bytes = 0;
  std::vector<MemoryRange> sources;
  std::vector<MemoryRange> destinations;
  std::vector<CopySignal> signals;  ///< barriers that it signals
  /// `sources` row by row without gaps, where these have any; only for observers that want
  /// EventKind::footprint.
  std::vector<MemoryRange> source_rows, destination_rows;  ///< the same of `destinations`
  /// Of a tensor copy: device address of its tensor map; else 0.
  uint64_t tensor_map = 0;
};

/// A copy is issued, has read its source, or has written its destination.
struct CopyEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::copy;
  /// A load reads and writes at one time: it is reported as landed only.
  enum class Stage : uint8_t { issued, read, landed };
  Stage stage = Stage::issued;  ///< its progress
  Origin origin{};              ///< who did it, and where
  Cycle cycle = 0;
  const CopyDescription& copy;
};

/// tcgen05.mma, tcgen05.cp or tcgen05.shift is issued or complete.
struct TensorCoreEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::tensor_core;
  /// What can be done.
  enum class Operation : uint8_t { mma, copy, shift };
  Operation operation = Operation::mma;
  bool completes = false;  ///< whether the phase completes
  Origin origin{};         ///< who did it, and where
  Cycle cycle = 0;
  Cycle completion = 0;     ///< when it will be, or is, complete
  uint64_t id = 0;          ///< unique in its CTA
  int group = 1;            ///< cta_group
  const char* kind = "";    ///< of an MMA: "f16", ...
  uint32_t m = 0;           ///< rows
  uint32_t n = 0;           ///< columns
  uint32_t k = 0;           ///< depth
  bool accumulate = false;  ///< whether it adds to D
  /// First column, and how many.
  uint32_t column = 0, columns = 0;  ///< of Tensor Memory that it writes, in each CTA of the group
  /// Shared memory that it reads: A and B of each CTA. Of an MMA, only when it is issued.
  std::span<const MemoryRange> reads = {};
  // When it is issued, and only for observers that want EventKind::footprint:
  /// The same as `reads`, in runs without gaps.
  std::span<const MemoryRange> read_rows = {};
  /// Tensor Memory that it reads and writes: D, A, scale factors, metadata, the destination.
  std::span<const TensorRange> tensor_ranges = {};
};

/// Allocation of, loads from and stores to Tensor Memory.
struct TensorMemoryEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::tensor_memory;
  /// What can be done.
  enum class Operation : uint8_t {
    alloc,  ///< granted
    dealloc,
    relinquish,
    load,
    store,
    wait_load,
    wait_store,
  };
  Operation operation = Operation::alloc;
  Origin origin{};  ///< who did it, and where
  Cycle cycle = 0;
  uint32_t column = 0;  ///< the first column
  uint32_t columns = 0;
  uint32_t lane = 0;  ///< the first lane
  uint32_t lane_count = 0;
  Cycle done = 0;  ///< load, store: when a wait for it may pass
  /// alloc: where in the CTA's shared window the address is written.
  uint32_t shared_offset_bytes = 0;
};

/// A commit, or a wait that passes, of the groups of a kind of asynchronous operation.
struct GroupEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::group;
  /// Which unit forms the groups.
  enum class Unit : uint8_t { bulk, cp_async, wgmma, tensor_core };
  Unit unit = Unit::bulk;
  bool waits = false;  ///< whether it waits
  Origin origin{};     ///< who did it, and where
  Cycle cycle = 0;
  uint32_t allowed = 0;    ///< wait: groups that may be pending
  bool read_only = false;  ///< wait: for the sources only (.read)
  // tcgen05.commit:
  uint32_t targets = 0;       ///< CTAs of the cluster whose mbarrier it arrives on, a bit each
  uint32_t offset_bytes = 0;  ///< of the mbarrier
  Cycle completion = 0;       ///< when it arrives
  /// Of this commit: its arrivals have it as their operation_id.
  uint64_t id = kNoOperation;
};

/// What a fence orders.
enum class FenceKind : uint8_t {
  thread,  ///< fence, membar
  mbarrier_init,
  proxy_alias,
  proxy_async,
  proxy_tensormap,
  proxy_async_generic,
  tcgen05_before_thread_sync,
  tcgen05_after_thread_sync,
};

/// A fence was executed.
struct FenceEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::fence;
  FenceKind kind = FenceKind::thread;  ///< which one it is
  Origin origin{};                     ///< who did it, and where
  Cycle cycle = 0;
  /// proxy_tensormap with .acquire, and cp_fenceproxy: device address of the map; else 0.
  uint64_t address = 0;
};

/// Threads access memory through the generic proxy: ld, st, atom, red, ldmatrix, stmatrix.
struct AccessEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::access;
  Origin origin{};  ///< who did it, and where
  Cycle cycle = 0;
  AddressSpace space = AddressSpace::generic;  ///< as the instruction says it
  Access access = Access::read;
  bool atomic = false;                                ///< whether it is atomic
  uint32_t bytes = 0;                                 ///< of each lane
  const std::array<uint64_t, kWarpLanes>& addresses;  ///< of the lanes of the origin
};

/// An event that orders threads, or passes their order on, and has no kind of its own.
struct OrderEvent {
  /// The kind under which observers ask for it.
  static constexpr EventKind kKind = EventKind::order;
  /// What happened.
  enum class Operation : uint8_t {
    /// The lanes, all of one member mask, have met at a warp-level .sync instruction.
    warp_sync,
    /// An arrive on another CTA's mbarrier departs; the arrival has `id` as its operation_id.
    mbarrier_send,
    /// A try_wait that had suspended passes: phase `phase` of the mbarrier is complete. (A test
    /// that finds its phase complete at once is an MbarrierEvent alone.)
    mbarrier_pass,
    /// barrier.cluster.wait passes, of phase `phase`.
    cluster_barrier_pass,
    /// cp.async.mbarrier.arrive: the arrival on the mbarrier, with `id` as its operation_id,
    /// follows the completion of the lane's earlier cp.async.
    cp_async_arrive,
    /// A request of launch control: 16 bytes at `address` of each CTA of `ranks` will be written,
    /// and the mbarrier signalled, with `id` as its operation_id.
    launch_control_request,
    launch_control_response,  ///< they are written in the CTA `cta_rank`
    grid_wait,                ///< griddepcontrol.wait
    grid_launch_dependents,   ///< griddepcontrol.launch_dependents
    wgmma_fence,              ///< wgmma.fence
    aligned,                  ///< the warp's live lanes execute an .aligned instruction together
    wgmma_issue,              ///< a warp issues its part of a wgmma.mma_async
  };
  Operation operation = Operation::warp_sync;
  Origin origin{};  ///< who did it, and where
  Cycle cycle = 0;
  /// Of a delayed effect, unique in the cluster.
  uint64_t id = kNoOperation;
  uint64_t phase = 0;         ///< of the barrier
  uint16_t cta_rank = 0;      ///< of the CTA that holds the mbarrier
  uint32_t offset_bytes = 0;  ///< of the mbarrier in the shared window
  uint32_t address = 0;       ///< of the response in the shared window
  uint32_t ranks = 0;         ///< CTAs that get the response, a bit each
  /// wgmma_issue: shared memory that it reads, in runs without gaps.
  std::span<const MemoryRange> reads = {};
};

/// Observes one cluster. The cluster holds it, and it outlives the cluster.
class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// The kinds that it requests; called once.
  [[nodiscard]] virtual EventKinds wants() const = 0;

  /// A CTA starts or ends.
  virtual void on_cta(const CtaEvent&) {}
  /// A strand has run.
  virtual void on_run(const RunEvent&) {}
  /// A strand goes to sleep or wakes.
  virtual void on_wait(const WaitEvent&) {}
  /// An mbarrier was operated on.
  virtual void on_mbarrier(const MbarrierEvent&) {}
  /// A named barrier or the cluster's was operated on.
  virtual void on_barrier(const BarrierEvent&) {}
  /// A copy was issued, has read or has landed.
  virtual void on_copy(const CopyEvent&) {}
  /// The tensor core was given work or has done it.
  virtual void on_tensor_core(const TensorCoreEvent&) {}
  /// Tensor memory was allocated, freed, read or written.
  virtual void on_tensor_memory(const TensorMemoryEvent&) {}
  /// A group was committed or waited for.
  virtual void on_group(const GroupEvent&) {}
  /// A fence was executed.
  virtual void on_fence(const FenceEvent&) {}
  /// Memory was read or written.
  virtual void on_access(const AccessEvent&) {}
  /// Something ordered threads.
  virtual void on_order(const OrderEvent&) {}

  /// Every thread of the cluster has exited and nothing is in flight; the cluster still exists.
  /// Called by the host thread that ran it, before on_end, and not for a cluster that ends
  /// otherwise.
  virtual void on_finish(const Cluster&) {}

  /// The cluster has ended (its object may be gone). Called for one cluster at a time, by ascending
  /// index, whatever host threads ran them, so results can be passed on without locks. If clusters
  /// cannot see each other and one has failed, those after it count as not run.
  virtual void on_end(RunStatus) {}
};

/// Makes the observers of a launch. A device owns it.
class LaunchObserver {
 public:
  LaunchObserver() = default;
  virtual ~LaunchObserver() = default;
  LaunchObserver(const LaunchObserver&) = delete;
  LaunchObserver& operator=(const LaunchObserver&) = delete;

  /// A launch begins.
  virtual void on_launch(Grid&) {}
  /// The observer of a cluster that is about to be built (its CTAs are not there yet), or nullptr.
  /// Called by any host thread, several at a time.
  [[nodiscard]] virtual std::unique_ptr<Observer> observe(Cluster& cluster) = 0;
  /// Every observer was notified of the end of its cluster. May throw SimulationError for a launch
  /// that has finished or faulted: the launch then ends with that error.
  virtual void on_launch_end(const LaunchResult&) {}
};

/// The observers of one cluster.
class ObserverList {
 public:
  /// Adds an observer.
  void add(std::shared_ptr<Observer> observer) {
    if (observer == nullptr) return;
    const EventKinds kinds = observer->wants();
    kinds_ |= kinds;
    entries_.push_back({kinds, std::move(observer)});
  }

  /// Whether any observer requests such events: check before building one.
  [[nodiscard]] bool want(EventKind kind) const { return (kinds_ & event_kinds(kind)) != 0; }

  /// Passes an event to all observers of its kind, in the order in which they were added.
  template <class Event>
  void notify(void (Observer::*callback)(const Event&), const Event& event) const {
    for (const Entry& entry : entries_)
      if ((entry.kinds & event_kinds(Event::kKind)) != 0) ((*entry.observer).*callback)(event);
  }

  /// The first observer of a type, or nullptr.
  template <class Type>
  [[nodiscard]] Type* find() const {
    for (const Entry& entry : entries_)
      if (auto* const found = dynamic_cast<Type*>(entry.observer.get())) return found;
    return nullptr;
  }

  /// Reports that the cluster has finished.
  void notify_finish(const Cluster& cluster) const {
    for (const Entry& entry : entries_) entry.observer->on_finish(cluster);
  }

  /// Reports how the cluster ended.
  void notify_end(RunStatus status) const {
    for (const Entry& entry : entries_) entry.observer->on_end(status);
  }

 private:
  struct Entry {
    EventKinds kinds = 0;
    std::shared_ptr<Observer> observer;
  };
  EventKinds kinds_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace bw::sim
