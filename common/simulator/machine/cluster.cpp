/// \file
/// The event loop of one cluster.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/ptx/control_flow.hpp"

namespace bw::sim {
namespace {

constexpr int kSharedPoison = 0xcd;
constexpr int kNanPoison = 0xff;
constexpr int kRegisterPoison = 0xcb;
/// Longest run of register-only instructions before other strands get a turn.
constexpr uint64_t kLongestBurst = 1u << 16;
/// With a timing model: how far a strand runs ahead of the others, with whom it shares issue slots.
constexpr Cycle kLongestLead = 512;
/// With a seed: how far warps' starts, wake-ups and asynchronous latencies may move.
constexpr Cycle kStartPerturbation = 256;
constexpr Cycle kWakePerturbation = 64;
/// Rounds of time-outs without any change of state after which waiting warps are a deadlock.
constexpr uint64_t kFruitlessRounds = 4;

uint64_t mix(uint64_t seed, uint64_t value) {
  // SplitMix64's finaliser: neighbouring clusters get unrelated sequences.
  uint64_t z = seed + 0x9e3779b97f4a7c15ull * (value + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// The last event that a cluster may come to.
uint64_t last_event(const Grid& grid, const Settings& settings, uint64_t cluster) {
  const std::optional<EventNumber>& until = settings.until_event;
  const bool stops = until && until->launch == grid.number() && until->cluster == cluster;
  return stops ? until->event - 1 : ~uint64_t{0};
}

/// Whether the other threads can go on after such a fault of one of them, so that it hides no race:
/// a race may be its reason (something is used before it is there), or it touches nothing that the
/// others see.
bool others_can_continue(FaultCode code) {
  switch (code) {
    case FaultCode::shared_never_written:
    case FaultCode::tmem_never_written:
    case FaultCode::mbarrier_not_initialised:
    case FaultCode::global_out_of_bounds:
    case FaultCode::tmem_lane_quarter:
    case FaultCode::tmem_load_not_awaited:
      return true;
    default:
      return false;
  }
}

}  // namespace

Cluster::Cluster(Grid& grid, uint64_t index, uint64_t slot, Cycle start)
    : grid_(grid),
      index_(index),
      slot_(slot),
      start_(start),
      now_(start),
      progress_time_(start),
      last_change_(start),
      last_event_(last_event(grid, grid.device().settings(), index)),
      random_(mix(grid.device().settings().seed, index)),
      costs_(grid.device().settings().times()) {
  const Dim3 shape = grid.configuration().cluster;
  const auto size = static_cast<uint32_t>(shape.volume());
  units_ = grid.device().units().make_for(*this);
  for (const auto& observer : grid.device().observers()) observers_.add(observer->observe(*this));
  if (L2Launch* const l2 = grid.l2()) {
    demand_.begin(size, start);
    l2_.begin(*l2, demand_, index, slot, start);
  }
  for (uint32_t rank = 0; rank < size; ++rank) build_cta(ctas_.emplace_back(), rank);
}

Cluster::~Cluster() = default;

void Cluster::build_cta(Cta& cta, uint32_t rank) {
  const LaunchConfiguration& configuration = grid_.configuration();
  const Dim3 origin = delinearize(index_, grid_.clusters());
  const Dim3 offset = delinearize(rank, configuration.cluster);
  cta.cluster = this;
  cta.rank = rank;
  cta.index = {origin.x * configuration.cluster.x + offset.x,
               origin.y * configuration.cluster.y + offset.y,
               origin.z * configuration.cluster.z + offset.z};
  cta.sm = grid_.sm_of(slot_, rank);
  cta.shared.assign(kernel().static_shared_bytes() + configuration.dynamic_shared_bytes,
                    settings().poisons_with_nan ? std::byte{kNanPoison} : std::byte{kSharedPoison});
  if (settings().checks != Checks::off) cta.contents.reset(cta.shared.size());
  const auto threads = static_cast<uint32_t>(configuration.block.volume());
  const uint32_t warps = ceil_div(threads, kWarpLanes);
  cta.units = grid_.device().units().make_for(cta);
  const TimingTable* const times = settings().times();
  cta.clock = std::make_unique<CtaClock>(times, demand_, l2_, rank, now_);
  if (times != nullptr) {
    cta.clock->is_first = index_ < grid_.resident_clusters();
    cta.clock->code = CodeFetch(grid_.code_rate(slot_));
    cta.clock->memory.set_l1_bytes(
        l1_bytes(times->l1_and_shared_bytes, grid_.ctas_on_sm(), cta.shared.size()));
  }
  cta.live_threads = threads;
  cta.live_warps = warps;
  live_warps_ += warps;
  cta.warps.resize(warps);
  for (uint32_t w = 0; w < warps; ++w) {
    Warp& warp = cta.warps[w];
    const uint32_t lanes = std::min<uint32_t>(kWarpLanes, threads - w * kWarpLanes);
    warp.index = w;
    warp.cta = &cta;
    warp.live = lanes == kWarpLanes ? kAllLanes : (1u << lanes) - 1;
    warp.registers.assign(kernel().register_file_bytes(), std::byte{kRegisterPoison});
    warp.local.assign(kernel().local_bytes() * kWarpLanes, std::byte{kSharedPoison});
    Strand* const strand = warp.new_strand();
    strand->mask = warp.live;
    strand->reconvergence_point = ptx::kNoReconvergence;
    make_ready(*strand, start_ + perturbation(kStartPerturbation));
    strand->slots_from = strand->time;
  }
  if (observed(EventKind::cta)) notify(&Observer::on_cta, CtaEvent{cta, start_, true});
}

const Kernel& Cluster::kernel() const { return grid_.kernel(); }
const Settings& Cluster::settings() const { return grid_.device().settings(); }
bool Cluster::at_isa_level() const { return settings().strictness == Strictness::isa; }
DeviceMemory& Cluster::memory() { return grid_.device().memory(); }

Cycle Cluster::perturbation(Cycle bound) {
  return settings().seed == 0 || bound == 0 ? 0 : random_() % bound;
}

uint64_t Cluster::next_order() {
  // The low bits keep the order unique; with a seed the high ones shuffle what happens at the same
  // time.
  ++order_;
  if (settings().seed == 0) return order_;
  constexpr int kOrderBits = 40;
  return (random_() << kOrderBits) | order_;
}

void Cluster::make_ready(Strand& strand, Cycle time) {
  strand.time = time;
  queue_.push_strand({time, next_order()}, &strand);
}

void Cluster::schedule_timeout(Strand& strand, Cycle time) {
  strand.time_limit = {time, next_order()};
  queue_.push_time_limit(strand.time_limit, &strand);
}

void Cluster::wake(Strand& strand, Cycle time) {
  if (!strand.suspended) return;
  strand.suspended = false;
  strand.wake = Wake::event;
  ++strand.wait_token;
  if (strand.time_limit.time != kNever) queue_.cancel_time_limit(strand.time_limit);
  strand.time_limit = {};
  make_ready(strand, std::max(time, strand.time) + perturbation(kWakePerturbation));
  if (strand.wait.kind != WaitKind::sleep) strand.warp->last_acquire = strand.time;
  notify_woken(strand);
}

void Cluster::notify_woken(const Strand& strand) const {
  if (!observed(EventKind::wait)) return;
  notify(&Observer::on_wait, WaitEvent{strand.origin(kernel().code()[strand.pc]), strand.time,
                                       strand.wait, true, strand.wake});
}

void Cluster::after(Cycle now, Cycle latency, Action action) {
  at(now + latency + perturbation(latency), std::move(action));
}

void Cluster::at(Cycle time, Action action) {
  queue_.push_action({std::max(time, now_), next_order()}, std::move(action));
}

void Cluster::in_global_order(Cycle now, Cycle latency, Action action) {
  if (!grid_.lockstep()) {
    at(now + latency, std::move(action));
    return;
  }
  ordered_operations_.push_back(
      {now, latency, index_, ordered_operations_.size(), std::move(action)});
}

void Cluster::on_lanes_exit(Warp& warp, LaneMask lanes, Cycle time) {
  Cta& cta = *warp.cta;
  note_progress();
  const auto count = static_cast<uint32_t>(std::popcount(lanes));
  cta.live_threads -= count;
  units_->on_lanes_exit(warp, lanes, time);
  fault_waiting_lanes(warp);
  if (warp.live != 0) return;
  count_demand(warp, time);
  warp.times.ended = time;
  --cta.live_warps;
  --live_warps_;
  if (cta.live_warps == 0) {
    units_->check_at_exit(cta);
    cta.exited = true;
    cta.ended = time;
    demand_.end(cta.rank, time);
    if (observed(EventKind::cta)) notify(&Observer::on_cta, CtaEvent{cta, time, false});
  }
}

EventNumber Cluster::event() const { return {grid_.number(), index_, statistics_.events}; }

bool Cluster::keep_fault(const Report& report) {
  if (kept_fault_) return true;
  if (settings().checks != Checks::races || !others_can_continue(report.code)) return false;
  kept_fault_.emplace(report);
  kept_until_ = now_ + kCyclesAfterFault;
  return true;
}

RunStatus Cluster::run(Cycle limit) {
  const RunStatus status = run_events(limit);
  if (kept_fault_ && (status != RunStatus::reached_limit || queue_.next_time() >= kept_until_))
    throw SimulationError(*kept_fault_);
  if (status == RunStatus::finished && last_event_ != ~uint64_t{0})
    throw SimulationError(Report{
        .code = FaultCode::setting_invalid,
        .what =
            fmt::format("BW_SIM_UNTIL_EVENT is {}, but cluster {} of launch {} ends with "
                        "its event {}",
                        settings().until_event->text(), index_, grid_.number(), statistics_.events),
        .fix = "give an event of this program, with these settings and this seed"});
  return status;
}

void Cluster::run_turn(Strand& strand, Cycle limit) {
  const bool runs_observed = observed(EventKind::run);
  const bool marked = strand.warp->undefined != nullptr;
  const auto run = [&] {
    try {
      if (runs_observed)
        marked ? run_strand<true, true>(strand, limit) : run_strand<true, false>(strand, limit);
      else
        marked ? run_strand<false, true>(strand, limit) : run_strand<false, false>(strand, limit);
    } catch (const DivergedLanes& apart) {
      wait_for_lanes(strand, apart.fault);
    }
  };
  try {
    run();
  } catch (const SimulationError& error) {
    if (!keep_fault(error.report())) throw;
    strand.suspended = true;  // forever
    strand.wait = {};
  }
}

RunStatus Cluster::run_events(Cycle limit) {
  while (true) {
    if (queue_.empty()) {
      if (!ordered_operations_.empty() || sm_waits_ != 0) return RunStatus::reached_limit;
      if (live_warps_ == 0) break;
      return RunStatus::deadlock;
    }
    if (queue_.next_time() >= std::min({limit, kept_until_, l2_.pauses_at()}))
      return RunStatus::reached_limit;
    if (statistics_.events >= last_event_) {
      running_ = nullptr;
      return RunStatus::cycle_limit;
    }
    if (only_waits_are_left() && ++timeouts_since_progress_ > kFruitlessRounds * (live_warps_ + 1))
      return RunStatus::deadlock;
    const Event event = queue_.pop();
    now_ = std::max(now_, event.at.time);
    ++statistics_.events;
    if (event.strand == nullptr) {
      try {
        queue_.take_action(event)(now_);
      } catch (const SimulationError& error) {
        if (!keep_fault(error.report())) throw;
      }
      note_progress();
      continue;
    }
    Strand& strand = *event.strand;
    if (event.is_timeout) {
      strand.suspended = false;
      strand.wake = Wake::timeout;
      strand.time = event.at.time;
      strand.time_limit = {};
      ++strand.wait_token;
      notify_woken(strand);
    }
    if (const std::optional<RunStatus> stop = stops_at(event.at.time)) {
      running_ = &strand;
      return *stop;
    }
    run_turn(strand, std::min(limit, kept_until_));
  }
  statistics_.cycles = std::max(statistics_.cycles, now_ - start_);
  observers_.notify_finish(*this);
  return RunStatus::finished;
}

bool Cluster::only_waits_are_left() {
  if (queue_.actions_in_flight() != 0 || queue_.ready_strands() != 0 ||
      !ordered_operations_.empty() || live_warps_ == 0 || sm_waits_ != 0)
    return false;
  // Only time limits are left: nothing changes what the waiting warps wait for, unless one of them
  // merely sleeps.
  for (const Cta& cta : ctas_)
    for (const Warp& warp : cta.warps)
      for (const auto& strand : warp.strands)
        if (strand->alive && strand->suspended && strand->wait.kind == WaitKind::sleep)
          return false;
  if (progress_ != progress_seen_) timeouts_since_progress_ = 0;
  progress_seen_ = progress_;
  return true;
}

std::optional<RunStatus> Cluster::stops_at(Cycle time) {
  const uint64_t most = settings().cycle_limit;
  if (most != 0 && time > most) return RunStatus::cycle_limit;
  if (progress_ != progress_seen_) {
    progress_seen_ = progress_;
    progress_time_ = time;
    last_change_ = time;
    timeouts_since_progress_ = 0;
  } else if (time > progress_time_ && time - progress_time_ > grid_.livelock_threshold()) {
    return RunStatus::livelock;
  }
  return std::nullopt;
}

void Cluster::resume() {
  // The strand's turn was taken from the queue and not used.
  auto& strand = const_cast<Strand&>(*running_);
  progress_time_ = std::max(progress_time_, strand.time);
  make_ready(strand, strand.time);
}

namespace {

/// Puts together what a strand does at one source line. Its destructor tells the last stretch, also
/// when an instruction breaks a rule.
class RunRecorder {
 public:
  explicit RunRecorder(const Cluster& cluster) : cluster_(cluster) {}
  ~RunRecorder() { notify(); }
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  void before(const Strand& strand, const Instruction& instruction) {
    const int32_t location = cluster_.kernel().source(instruction).location;
    if (event_.instructions != 0 && location != location_) notify();
    if (event_.instructions == 0) {
      event_.origin = strand.origin(instruction);
      event_.from = strand.time;
      location_ = location;
    }
    ++event_.instructions;
    event_.to = strand.time;
  }
  void after(Cycle time) { event_.to = time; }

 private:
  void notify() {
    if (event_.instructions != 0) cluster_.notify(&Observer::on_run, event_);
    event_.instructions = 0;
  }

  const Cluster& cluster_;
  RunEvent event_;
  int32_t location_ = -1;
};

struct NoRecorder {
  explicit NoRecorder(const Cluster&) {}
  void before(const Strand&, const Instruction&) {}
  void after(Cycle) {}
};

}  // namespace

void Cluster::await_loads(Strand& strand, uint8_t awaits) const {
  WarpTimes& counted = strand.warp->times;
  for (uint32_t bits = awaits; bits != 0; bits &= bits - 1) {
    const auto scoreboard = static_cast<uint32_t>(std::countr_zero(bits));
    const Cycle arrives = strand.arrives[scoreboard];
    if (arrives <= strand.time) continue;
    const bool from_device = (strand.from_device >> scoreboard & 1) != 0;
    (from_device ? counted.global_stalls : counted.shared_stalls) += arrives - strand.time;
    strand.time = arrives;
  }
}

void Cluster::count_demand(Warp& warp, Cycle at) {
  const uint64_t slots = warp.times.issue_slots - warp.counted_slots;
  if (slots != 0) demand_.use(Resource::issue_slots, warp.cta->rank, warp.counted_from, slots);
  warp.counted_slots = warp.times.issue_slots;
  warp.counted_from = Demand::interval_begin(start_, at);
}

void Cluster::take_issue_slots(Strand& strand, const Instruction& instruction) {
  const uint32_t slots = instruction.issue_slots;
  const Cycle from = strand.slots_from;
  Warp& warp = *strand.warp;
  if (from - warp.counted_from >= Demand::kInterval) count_demand(warp, from);
  SmTimes& sm = *strand.cta->clock;
  IssueCalendar& calendar = sm.schedulers[warp.index % SmTimes::kSchedulers];
  const uint32_t number = warp.index / SmTimes::kSchedulers;
  warp.times.issue_slots += slots;
  warp.times.issued += instruction.issued;
  if (!calendar.take_at_once(now_, from, slots, number))
    return wait_for_issue_slots(strand, instruction);
  end_stretch(strand, instruction, from + slots);
}

void Cluster::wait_for_issue_slots(Strand& strand, const Instruction& instruction) {
  const uint32_t warp = strand.warp->index;
  IssueCalendar& calendar = strand.cta->clock->schedulers[warp % SmTimes::kSchedulers];
  calendar.forget_before(now_);
  end_stretch(
      strand, instruction,
      calendar.reserve(strand.slots_from, instruction.issue_slots, warp / SmTimes::kSchedulers));
}

inline void Cluster::end_stretch(Strand& strand, const Instruction& instruction, Cycle last) {
  if (last > strand.time) {
    strand.warp->times.issue_stalls += last - strand.time;
    strand.time = last;
  }
  SmTimes& sm = *strand.cta->clock;
  if (sm.is_first && instruction.issued != 0) {
    const Cycle fetched = sm.code.fetched(instruction.code_begin);
    if (fetched == 0) return reach_code(strand, instruction);
    strand.time = std::max(strand.time, fetched);
  }
  strand.slots_from = strand.time;
}

void Cluster::reach_code(Strand& strand, const Instruction& instruction) {
  strand.code = strand.cta->clock->code.stretch(instruction.code_begin, instruction.issued,
                                                strand.slots_from);
  if (!strand.code.waits()) strand.time = std::max(strand.time, static_cast<Cycle>(strand.code.at));
  strand.slots_from = strand.time;
}

bool Cluster::fetch_code(Strand& strand, Cycle limit) {
  CodeFetch& code = strand.cta->clock->code;
  const auto bound = static_cast<double>(next_bound(limit));
  while (strand.code.waits()) {
    // (A fraction of a cycle gives no strand its turn: two would yield to each other forever.)
    if (std::floor(strand.code.at) > bound + code.lead()) {
      make_ready(strand, static_cast<Cycle>(strand.code.at));
      return false;
    }
    code.fetch_line(strand.code);
  }
  // The cost of the stretch other than its code was added when the strand reached its end.
  strand.time = std::max(strand.slots_from, static_cast<Cycle>(strand.code.at));
  strand.slots_from = strand.time;
  return true;
}

template <bool observed, bool marked>
void Cluster::run_strand(Strand& strand, Cycle limit) {
  const Instruction* const code = kernel().code().data();
  const auto code_size = static_cast<uint32_t>(kernel().code().size());
  if (strand.code.waits() && !fetch_code(strand, limit)) return;
  Warp& warp = *strand.warp;  // the strand may be gone at the end
  uint64_t executed = 0;
  Cycle bound = next_bound(limit);
  std::conditional_t<observed, RunRecorder, NoRecorder> recorder(*this);
  while (true) {
    if (strand.pc == strand.reconvergence_point && !rejoin(strand)) break;
    if (strand.pc >= code_size) {  // the end of the text is an exit
      exit_lanes(strand, strand.mask);
      break;
    }
    const Instruction& instruction = code[strand.pc];
    if (instruction.awaits != 0) await_loads(strand, instruction.awaits);
    const bool in_time_order = !runs_ahead(instruction.effect);
    if (in_time_order ? strand.time > bound : executed >= kLongestBurst) {
      make_ready(strand, strand.time);
      break;
    }
    LaneMask active = strand.mask;
    if (instruction.has_guard) {
      if constexpr (marked) strand.warp->undefined->check_guard(strand, instruction);
      LaneMask guard = 0;
      std::memcpy(&guard, strand.bases[0] + instruction.guard_offset_bytes, sizeof guard);
      active &= instruction.guard_negated ? ~guard : guard;
      if (active == 0) {
        ++strand.pc;
        strand.time += instruction.skip_cycles;
        if (instruction.issue_slots != 0) {
          take_issue_slots(strand, instruction);
          if (strand.code.waits() && !fetch_code(strand, limit)) break;
        }
        continue;
      }
    }
    ++executed;
    strand.executing = active;
    recorder.before(strand, instruction);
    if constexpr (marked) strand.warp->undefined->before(strand, instruction, active);
    const Flow flow = instruction.execute(strand, instruction, active);
    if (flow == Flow::next) {
      const uint32_t length = observed ? 1 : instruction.length;
      executed += length - 1;
      strand.pc += length;
      strand.time += observed ? instruction.cycles : instruction.length_cycles;
      strand.wake = Wake::none;
      recorder.after(strand.time);
    } else if (flow == Flow::jump) {
      strand.time += instruction.cycles;
      strand.wake = Wake::none;
      recorder.after(strand.time);
    } else {
      break;
    }
    if (instruction.issue_slots != 0) {
      take_issue_slots(strand, instruction);
      if (strand.code.waits() && !fetch_code(strand, limit)) break;
      if (strand.time > bound && strand.time - bound > kLongestLead) {
        make_ready(strand, strand.time);
        break;
      }
    }
    if (in_time_order) bound = next_bound(limit);
  }
  statistics_.warp_instructions += executed;
  warp.times.instructions += executed;
}

}  // namespace bw::sim
