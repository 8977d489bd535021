#pragma once
/// \file
/// The running machine: strands (groups of lanes that share a program counter), warps, CTAs,
/// clusters.
///
/// A cluster is the unit of simulation: one event queue in simulated time, run by one host thread
/// at a time. Instructions that touch state others see run in time order; others run ahead within
/// their warp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/base/buffer_pool.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/cost_port.hpp"
#include "common/simulator/clock/cta_clock.hpp"
#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/l2_view.hpp"
#include "common/simulator/clock/warp_times.hpp"
#include "common/simulator/machine/event_queue.hpp"
#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/machine/lane_registers.hpp"
#include "common/simulator/machine/observer.hpp"
#include "common/simulator/machine/settings.hpp"
#include "common/simulator/machine/shared_contents.hpp"
#include "common/simulator/machine/undefined_lanes.hpp"
#include "common/simulator/machine/unit_state.hpp"
#include "common/simulator/machine/warnings.hpp"

namespace bw::sim {

class Cluster;
class DeviceMemory;
class Grid;
class Kernel;
struct Cta;
struct Warp;

/// Why a suspended strand runs again.
enum class Wake : uint8_t {
  none,     ///< it was not suspended: this is the instruction's first execution
  event,    ///< what it waited for has happened
  timeout,  ///< its time limit has passed
};

/// What a strand is suspended on; the diagnosis is built from it.
enum class WaitKind : uint8_t {
  none,
  mbarrier,       ///< object: shared offset, detail: parity waited for
  named_barrier,  ///< object: barrier id
  cluster_barrier,
  warp_sync,       ///< object: member mask still missing
  reconvergence,   ///< waits for the other lanes of its warp
  bulk_group,      ///< object: groups allowed to be pending
  cp_async_group,  ///< object: groups allowed to be pending
  wgmma_group,     ///< object: groups allowed to be pending
  register_pool,   ///< object: registers a thread, detail: registers missing in the pool
  tcgen05_alloc,   ///< object: columns
  tcgen05_wait,
  previous_grid,  ///< griddepcontrol.wait
  global_order,   ///< an operation that is ordered among all clusters of the grid
  sleep,
};

/// What a strand waits for.
struct Wait {
  WaitKind kind = WaitKind::none;  ///< which one it is
  uint64_t object = 0;             ///< the barrier, group or columns
  uint64_t detail = 0;             ///< the phase or the number of groups
  Cycle since = 0;
};

/// Lanes that diverged at a branch and reconverge at `point`.
struct Reconvergence {
  uint32_t point = 0;               ///< instruction index
  LaneMask expected = 0;            ///< lanes that have not exited
  LaneMask arrived = 0;             ///< lanes that have arrived
  uint32_t branch = 0;              ///< instruction index of the branch at which they diverged
  Cycle latest = 0;                 ///< time of the last arrival
  Cycle cost = 0;                   ///< with a timing model: from then until they go on together
  Reconvergence* parent = nullptr;  ///< what it is part of
};

/// Lanes of one warp that share a program counter.
struct Strand : LaneRegisters {
  uint32_t pc = 0;                   ///< index of the instruction
  LaneMask mask = 0;                 ///< a set of lanes
  LaneMask executing = 0;            ///< lanes for which the current instruction executes
  uint32_t reconvergence_point = 0;  ///< frame's point or kNoReconvergence
  Cycle time = 0;                    ///< "now" for the instruction that executes
  /// By scoreboard: when the last of the values that it counts arrives. Loads overlap, with each
  /// other and with waits; instructions that await them (Instruction::awaits) do not start before.
  std::array<Cycle, kScoreboards> arrives{};
  uint8_t from_device = 0;  ///< scoreboards (bits) whose last value comes from device memory
  Warp* warp = nullptr;
  Cta* cta = nullptr;
  Cluster* cluster = nullptr;
  Reconvergence* frame = nullptr;  ///< where it meets the others again
  Wake wake = Wake::none;          ///< why it goes on
  bool suspended = false;
  bool alive = false;       ///< whether it has lanes left
  uint32_t wait_token = 0;  ///< the wait that it belongs to; a later wait of the strand has another
  EventTime time_limit;     ///< of the wait, where it has one
  Wait wait;                ///< what it waits for

  /// With a timing model: where the stretch of instructions begins whose issue slots are not taken
  /// yet.
  Cycle slots_from = 0;
  /// With a timing model: code of that stretch that the SM has to fetch before the strand goes on.
  CodeFetch::Stretch code;

  /// The value that the current instruction loads arrives at `at`; `scoreboard` counts it.
  void value_arrives(LoadSource from, uint8_t scoreboard, Cycle at) {
    if (at <= arrives[scoreboard]) return;
    arrives[scoreboard] = at;
    const auto bit = static_cast<uint8_t>(1u << scoreboard);
    from_device = static_cast<uint8_t>(from == LoadSource::device_memory ? from_device | bit
                                                                         : from_device & ~bit);
  }
  /// Whether this execution follows a suspension of the same instruction.
  [[nodiscard]] bool resumed() const { return wake != Wake::none; }
  /// Suspends until Cluster::wake (or the time limit, if one is given); returns Flow::block for the
  /// handler.
  Flow block(WaitKind kind, uint64_t object, uint64_t detail, Cycle limit = kNever);

  /// Who acts, for events: these lanes, or those for which the current instruction executes.
  [[nodiscard]] Origin origin(const Instruction& instruction, LaneMask lanes) const;
  /// The lanes that execute the instruction.
  [[nodiscard]] Origin origin(const Instruction& instruction) const {
    return origin(instruction, executing);
  }

  /// Thread index in the CTA of a lane (linear).
  [[nodiscard]] uint32_t thread_index(int lane) const;

  /// "gemm.cuh:87: `ld.shared.u32 ...`, CTA (3,0,0), warp 5, lane 0".
  [[nodiscard]] std::string describe(const Instruction& instruction, LaneMask lanes) const;
  /// The same as fields, with the line that `describe` names; `role` says what happened there.
  [[nodiscard]] ReportPlace place(const Instruction& instruction, LaneMask lanes,
                                  std::string role = {}) const;
};

inline Flow Handler::operator()(Strand& strand, const Instruction& instruction,
                                LaneMask active) const {
  if (of_lanes_ == nullptr) return of_strand_(strand, instruction, active);
  of_lanes_(strand, instruction, active);
  return Flow::next;
}

/// The place that a fault names: some lanes of a strand at an instruction.
struct Site {
  const Strand& strand;
  const Instruction& instruction;
  LaneMask lanes = 0;  ///< the threads of the warp that take part

  /// Throws the fault as a SimulationError placed here. The rule cites the section that the fault
  /// names, else the one of the instruction's record.
  [[noreturn]] void fault(Fault fault) const;
  /// What it would throw, for a caller that continues.
  [[nodiscard]] Report report(Fault fault) const;
  /// The run goes on, and the reader is told, once for each instruction. `make()` gives the Fault.
  template <class Make>
  void warn(FaultCode code, Make&& make) const {
    warnings().add(code, &instruction, [&] {
      Report told = report(make());
      told.is_tolerated = true;
      return told;
    });
  }

  /// A rule that only the level `isa` holds programs to: there its fault, at `hardware` a warning.
  /// It returns where the run goes on (see Cluster::keep_fault too).
  template <class Make>
  void fault_at_isa(FaultCode code, Make&& make) const {
    if (is_at_isa_level()) {
      Report broken = report(make());
      if (keeps(broken)) return;
      throw SimulationError(std::move(broken));
    }
    warn(code, std::forward<Make>(make));
  }

 private:
  [[nodiscard]] Warnings& warnings() const;
  [[nodiscard]] bool is_at_isa_level() const;
  [[nodiscard]] bool keeps(const Report& report) const;
};

/// Thrown by an instruction that all lanes of the warp execute together, where only some of them
/// have come to it.
struct DivergedLanes {
  std::exception_ptr fault;  ///< a SimulationError, unless the others come to it as well
};

/// A warp: its registers and its strands.
struct Warp {
  uint32_t index = 0;  ///< in the CTA
  Cta* cta = nullptr;
  LaneMask live = 0;   ///< lanes that have not exited
  LaneMask carry = 0;  ///< the condition code's carry flag CC.CF of each lane
  /// When it has last learned of other threads: a wait has passed, or it has read something that
  /// orders. What came to pass later it cannot know.
  Cycle last_acquire = 0;
  PooledBytes registers;                               ///< of all lanes, register by register
  PooledBytes local;                                   ///< 32 x local bytes per thread, lane-major
  std::vector<std::unique_ptr<Strand>> strands;        ///< pool; dead ones are reused
  std::vector<std::unique_ptr<Reconvergence>> frames;  ///< where strands meet again
  std::vector<Reconvergence*> free_frames;             ///< to be used again
  std::unique_ptr<UndefinedLanes> undefined;  ///< null: every value that was read is defined
  WarpTimes times;                            ///< what it did so far
  uint64_t counted_slots = 0;  ///< of its issue slots, those that the cluster's demand contains
  Cycle counted_from = 0;      ///< the beginning of the demand's interval that the others are in

  /// A strand of this warp.
  Strand* new_strand();
  /// A place to meet.
  Reconvergence* new_frame();
};

/// A CTA: its warps and its memory.
struct Cta {
  Cluster* cluster = nullptr;
  uint32_t rank = 0;                    ///< %cluster_ctarank
  Dim3 index;                           ///< %ctaid
  uint32_t sm = 0;                      ///< number of the SM
  uint32_t live_warps = 0;              ///< warps that have not ended
  bool exited = false;                  ///< whether it has ended
  bool saw_failed_cancel = false;       ///< a thread has read that a launch-control request failed
  Cycle triggered = kNever;             ///< when it first executed griddepcontrol.launch_dependents
  Cycle ended = 0;                      ///< when its last thread exited
  PooledBytes shared;                   ///< includes the reserved bytes at the start
  SharedContents contents;              ///< which of them were written; not tracked without checks
  std::vector<Warp> warps;              ///< by number
  uint32_t live_threads = 0;            ///< threads that have not ended
  std::unique_ptr<CtaUnitState> units;  ///< what the units keep
  std::unique_ptr<CtaClock> clock;      ///< of its SM

  Cta() = default;
  Cta(const Cta&) = delete;  // units keep a reference to their CTA
  Cta& operator=(const Cta&) = delete;
};

/// Counters of one cluster's run.
struct ClusterStatistics {
  uint64_t warp_instructions = 0;  ///< instructions, counted once a warp
  uint64_t events = 0;             ///< that were taken from the queue
  Cycle cycles = 0;                ///< how long it took
};

/// A cluster as it runs: its CTAs and its event queue.
class Cluster {
 public:
  /// Builds the CTAs of cluster `index` (linear in the grid of clusters) in place `slot` of those
  /// that the machine holds at once, ready to run at time `start`.
  Cluster(Grid& grid, uint64_t index, uint64_t slot, Cycle start);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// At the level `races`: for this many cycles a cluster, and those that run with it, continue
  /// after a fault. Long enough for a warp that has begun late, or waits for a copy.
  static constexpr Cycle kCyclesAfterFault = 20'000;

  /// Lanes of the warp have gone elsewhere, have exited, or wait: if others wait for them at an
  /// .aligned instruction, throws what those have broken.
  void fault_waiting_lanes(const Warp& warp);
  /// Runs until every thread has exited and nothing is in flight, until simulated time `limit` or
  /// until it pauses (L2View::pauses_at), or until it is stuck; says which. A stuck cluster keeps
  /// its state for the report. Throws SimulationError for faults.
  RunStatus run(Cycle limit);
  /// After a livelock or at the launch's limit of cycles: one of the strands that run. Null where
  /// it has stopped before an event.
  [[nodiscard]] const Strand* running() const { return running_; }
  /// Makes a cluster that run() has left as a livelock able to run on.
  void resume();
  /// The event that happens now, or happened last.
  [[nodiscard]] EventNumber event() const;
  /// At the level `races` some faults may follow from a race that is found when others go on: the
  /// first is kept, and thrown when the cluster ends or has gone on for a while. Returns whether
  /// this one is kept, or another one is.
  bool keep_fault(const Report& report);
  /// Simulated time since the last change of state that others could see, for a cluster that has
  /// been left as a livelock and as long as nothing changes; else 0.
  [[nodiscard]] Cycle idle_cycles() const {
    return progress_ == progress_seen_ ? now_ - std::min(now_, last_change_) : 0;
  }

  // Observers.
  /// Whether anybody wants such events; to be asked before an event is put together.
  [[nodiscard]] bool observed(EventKind kind) const { return observers_.want(kind); }
  /// Calls one function of every observer.
  template <class Event>
  void notify(void (Observer::*callback)(const Event&), const Event& event) const {
    observers_.notify(callback, event);
  }
  /// The observers that are notified of events.
  [[nodiscard]] ObserverList& observers() { return observers_; }
  /// The observers that are notified of events.
  [[nodiscard]] const ObserverList& observers() const { return observers_; }
  /// A number for an operation that several events are about.
  [[nodiscard]] uint64_t next_operation() { return operations_++; }

  /// Schedules an asynchronous unit's action. `latency` is perturbed by the seed.
  void after(Cycle now, Cycle latency, Action action);
  /// As `after` at an exact time (for actions that must keep an order among themselves).
  void at(Cycle time, Action action);
  /// Makes a suspended strand run its instruction again at `time`.
  void wake(Strand& strand, Cycle time);
  /// Makes a strand that is about to suspend run again at `time` with Wake::timeout.
  void schedule_timeout(Strand& strand, Cycle time);
  /// A strand waits for what a CTA of another cluster holds on its SM, or no longer does: while it
  /// does, the cluster alone is not a deadlock.
  void wait_for_sm(bool begins) { sm_waits_ += begins ? 1 : -1; }
  /// A change of state that others can see: spinning is not a livelock while these happen.
  void note_progress() { ++progress_; }

  /// Performs `action` in the order that holds among all clusters of the grid (time, then cluster)
  /// and at the earliest `latency` cycles from `now`. For global atomics, strong global accesses
  /// and cluster launch control. The strand should block with WaitKind::global_order; the action
  /// wakes it.
  void in_global_order(Cycle now, Cycle latency, Action action);

  /// A random number below `bound` from the seed; 0 when the seed is 0.
  [[nodiscard]] Cycle perturbation(Cycle bound);

  // Control flow of strands (machine/control_flow.cpp).
  /// Lanes `taken` go to `target`, the others on; called by branch handlers.
  Flow branch(Strand& strand, const Instruction& instruction, LaneMask taken);
  /// Lanes exit.
  Flow exit_lanes(Strand& strand, LaneMask lanes);
  /// The strand gives up its turn after `instruction`, which has executed; for handlers that
  /// change how the following instructions must be executed.
  Flow yield_after(Strand& strand, const Instruction& instruction);

  [[nodiscard]] Grid& grid() { return grid_; }
  [[nodiscard]] const Kernel& kernel() const;
  [[nodiscard]] const Settings& settings() const;
  [[nodiscard]] DeviceMemory& memory();
  [[nodiscard]] uint64_t index() const { return index_; }
  /// Its place among those that the machine holds at once.
  [[nodiscard]] uint64_t slot() const { return slot_; }
  /// When the cluster began.
  [[nodiscard]] Cycle start() const { return start_; }
  /// The CTAs, by rank.
  [[nodiscard]] std::deque<Cta>& ctas() { return ctas_; }
  /// Its CTA.
  [[nodiscard]] Cta& cta(uint32_t rank) { return ctas_[rank]; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(ctas_.size()); }
  /// What the units keep.
  [[nodiscard]] ClusterUnitState& units() const { return *units_; }
  [[nodiscard]] const ClusterStatistics& statistics() const { return statistics_; }
  /// Whether programs are held to the PTX ISA's words (Strictness::isa).
  [[nodiscard]] bool at_isa_level() const;
  /// What the run lets pass and tells the reader.
  [[nodiscard]] Warnings& warnings() { return warnings_; }
  /// What operations cost.
  [[nodiscard]] const Costs& costs() const { return costs_; }
  /// With a timing model: what it has asked of what clusters share.
  [[nodiscard]] Demand& demand() { return demand_; }
  /// With a timing model: what it finds in the L2 cache.
  [[nodiscard]] L2View& l2() { return l2_; }
  [[nodiscard]] Cycle now() const { return now_; }
  /// What happens later.
  [[nodiscard]] const EventQueue& queue() const { return queue_; }

  /// What device-side printf wrote; the grid prints clusters in order.
  [[nodiscard]] std::string& output() { return output_; }

  /// Ordered operations that wait for the grid's next step; the grid takes them.
  struct OrderedOperation {
    Cycle time = 0;     ///< of issue: the order among clusters
    Cycle latency = 0;  ///< until it is done
    uint64_t cluster = 0;
    uint64_t sequence = 0;  ///< its number in the cluster
    Action action;
  };
  /// What is to be ordered among clusters.
  [[nodiscard]] std::vector<OrderedOperation>& ordered_operations() { return ordered_operations_; }

 private:
  void build_cta(Cta& cta, uint32_t rank);
  /// `observed`: an observer wants RunEvents.
  /// `marked`: the warp holds undefined values (Warp::undefined).
  template <bool observed, bool marked>
  void run_strand(Strand& strand, Cycle limit);
  void make_ready(Strand& strand, Cycle time);
  /// The strand awaits what it has loaded (kAwaits*).
  void await_loads(Strand& strand, uint8_t awaits) const;
  /// The strand has its issue slots since Strand::slots_from, up to this instruction, from its
  /// scheduler.
  void take_issue_slots(Strand& strand, const Instruction& instruction);
  /// The same where they are not all free at once.
  [[gnu::noinline]] void wait_for_issue_slots(Strand& strand, const Instruction& instruction);
  /// The strand has its slots until `last`: it goes on then, if its code is there.
  void end_stretch(Strand& strand, const Instruction& instruction, Cycle last);
  /// The strand is the first to come to a stretch of code on its SM.
  [[gnu::noinline]] void reach_code(Strand& strand, const Instruction& instruction);
  /// Adds the slots that a warp has taken since Warp::counted_from to the demand; it goes on at
  /// `at`.
  [[gnu::noinline]] void count_demand(Warp& warp, Cycle at);
  /// Fetches the code that the strand waits for as far as it is its turn to ask for it. Returns
  /// whether all is there; else the strand has another turn.
  bool fetch_code(Strand& strand, Cycle limit);
  /// Until when a strand may go on: others come before it then, or the cluster pauses.
  [[nodiscard]] Cycle next_bound(Cycle limit) const {
    return std::min({queue_.next_time(), limit, l2_.pauses_at()});
  }
  void notify_woken(const Strand& strand) const;
  /// The strand has come to its reconvergence point. True: its lanes are together and it goes on.
  bool rejoin(Strand& strand);
  /// Lanes of a frame have exited: completes the frames that waited only for them.
  void finish_frames(Warp& warp, Reconvergence* innermost, LaneMask exited, Cycle time);
  void on_lanes_exit(Warp& warp, LaneMask lanes, Cycle time);
  /// Some lanes have come to an instruction that all execute together. They wait there while the
  /// others are on their way and neither wait nor meet elsewhere (compilers let lanes come to one
  /// instruction by several edges); else throws the fault.
  void wait_for_lanes(Strand& strand, std::exception_ptr fault);
  /// Whether lanes of a warp wait so, and where: nullptr for none.
  [[nodiscard]] Strand* waiting_lanes(const Warp& warp) const;
  /// They wait no longer.
  std::exception_ptr forget_waiting_lanes(const Warp& warp);
  /// Other lanes have come to where they meet: throws the fault of lanes that wait so before that.
  void fault_lanes_left_behind(const Warp& warp, const Reconvergence& frame);
  /// Takes events from the queue until there is a reason to stop.
  RunStatus run_events(Cycle limit);
  /// The strand's turn.
  void run_turn(Strand& strand, Cycle limit);
  /// Why a strand must not go on at `time`: it has spun too long or come to the limit of cycles.
  [[nodiscard]] std::optional<RunStatus> stops_at(Cycle time);
  /// No event is pending but time limits of waits that only another thread could fulfil.
  [[nodiscard]] bool only_waits_are_left();
  [[nodiscard]] uint64_t next_order();

  Grid& grid_;
  uint64_t index_;
  uint64_t slot_;
  Cycle start_;
  Cycle now_;
  ObserverList observers_;
  std::deque<Cta> ctas_;  ///< deque: CTAs do not move
  std::unique_ptr<ClusterUnitState> units_;
  EventQueue queue_;
  uint64_t order_ = 0;
  uint64_t operations_ = 0;
  const Strand* running_ = nullptr;
  uint64_t progress_ = 0;
  uint64_t progress_seen_ = 0;
  Cycle progress_time_ = 0;  ///< when a livelock was last ruled out
  Cycle last_change_ = 0;
  uint64_t timeouts_since_progress_ = 0;
  uint64_t last_event_;                        ///< the last event before which it must not stop
  std::optional<SimulationError> kept_fault_;  ///< see keep_fault()
  Cycle kept_until_ = kNever;                  ///< when it is thrown at the latest
  uint32_t live_warps_ = 0;
  int64_t sm_waits_ = 0;
  std::mt19937_64 random_;
  std::vector<OrderedOperation> ordered_operations_;
  std::string output_;
  ClusterStatistics statistics_;
  Warnings warnings_;
  Costs costs_;
  Demand demand_;
  L2View l2_;
  /// Lanes that wait at an .aligned instruction for the rest of their warp, and what they have
  /// broken if it does not come.
  struct WaitingLanes {
    Strand* strand = nullptr;
    std::exception_ptr fault;
  };
  std::vector<WaitingLanes> waiting_lanes_;
};

}  // namespace bw::sim
