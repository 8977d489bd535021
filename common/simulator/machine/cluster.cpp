/// \file
/// The event loop of one cluster.
#include <algorithm>
#include <bit>
#include <cstring>

#include "common/simulator/diagnosis/deadlock.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/ptx/control_flow.hpp"

namespace bw::sim {
namespace {

constexpr int kSharedPoison = 0xcd;
constexpr int kRegisterPoison = 0xcb;
/// Longest run of register-only instructions before other strands get a turn.
constexpr uint64_t kLongestBurst = 1u << 16;
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

}  // namespace

Cluster::Cluster(Grid& grid, uint64_t index, Cycle start)
    : grid_(grid),
      index_(index),
      start_(start),
      now_(start),
      progress_time_(start),
      random_(mix(grid.device().settings().seed, index)) {
  const Dim3 shape = grid.configuration().cluster;
  const auto size = static_cast<uint32_t>(shape.volume());
  units_ = grid.device().units().make_for(*this);
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
  cta.sm =
      static_cast<uint32_t>((index_ * configuration.cluster.volume() + rank) % settings().sm_count);
  cta.shared.assign(kernel().static_shared_bytes() + configuration.dynamic_shared_bytes,
                    std::byte{kSharedPoison});
  const auto threads = static_cast<uint32_t>(configuration.block.volume());
  const uint32_t warps = (threads + kWarpLanes - 1) / kWarpLanes;
  cta.units = grid_.device().units().make_for(cta);
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
  }
}

const Kernel& Cluster::kernel() const { return grid_.kernel(); }
const Settings& Cluster::settings() const { return grid_.device().settings(); }
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
  if (warp.live != 0) return;
  --cta.live_warps;
  --live_warps_;
  if (cta.live_warps == 0) {
    units_->check_at_exit(cta);
    cta.exited = true;
  }
}

Cluster::Status Cluster::run(Cycle limit) {
  while (true) {
    if (queue_.empty()) {
      if (!ordered_operations_.empty()) return Status::reached_limit;
      if (live_warps_ == 0) break;
      report_deadlock();
    }
    const Cycle next = queue_.next_time();
    if (next >= limit) return Status::reached_limit;
    if (only_waits_are_left() && ++timeouts_since_progress_ > kFruitlessRounds * (live_warps_ + 1))
      report_deadlock();
    const Event event = queue_.pop();
    now_ = std::max(now_, event.at.time);
    ++statistics_.events;
    if (event.strand == nullptr) {
      queue_.take_action(event)(now_);
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
    }
    check_progress(event.at.time, strand);
    run_strand(strand, limit);
  }
  statistics_.cycles = std::max(statistics_.cycles, now_ - start_);
  return Status::finished;
}

bool Cluster::only_waits_are_left() {
  if (queue_.actions_in_flight() != 0 || queue_.ready_strands() != 0 ||
      !ordered_operations_.empty() || live_warps_ == 0)
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

void Cluster::check_progress(Cycle time, const Strand& strand) {
  const uint64_t most = settings().cycle_limit;
  if (most != 0 && time > most) throw SimulationError(cycle_limit_report(*this, strand));
  if (progress_ != progress_seen_) {
    progress_seen_ = progress_;
    progress_time_ = time;
    timeouts_since_progress_ = 0;
  } else if (time > progress_time_ && time - progress_time_ > settings().livelock_cycles) {
    throw SimulationError(livelock_report(*this, strand));
  }
}

void Cluster::run_strand(Strand& strand, Cycle limit) {
  const Instruction* const code = kernel().code().data();
  const auto code_size = static_cast<uint32_t>(kernel().code().size());
  uint64_t executed = 0;
  Cycle bound = std::min(queue_.next_time(), limit);
  while (true) {
    if (strand.pc == strand.reconvergence_point && !rejoin(strand)) break;
    if (strand.pc >= code_size) {  // the end of the text is an exit
      exit_lanes(strand, strand.mask);
      break;
    }
    const Instruction& instruction = code[strand.pc];
    if (instruction.awaits_loads) strand.time = std::max(strand.time, strand.loads_arrive);
    const bool in_time_order = instruction.effect != Effect::lane;
    if (in_time_order ? strand.time > bound : executed >= kLongestBurst) {
      make_ready(strand, strand.time);
      break;
    }
    LaneMask active = strand.mask;
    if (instruction.has_guard) {
      LaneMask guard = 0;
      std::memcpy(&guard, strand.bases[0] + instruction.guard_offset_bytes, sizeof guard);
      active &= instruction.guard_negated ? ~guard : guard;
      if (active == 0) {
        ++strand.pc;
        ++strand.time;
        continue;
      }
    }
    ++executed;
    const Flow flow = instruction.execute(strand, instruction, active);
    if (flow == Flow::next) {
      ++strand.pc;
      strand.time += instruction.cycles;
      strand.wake = Wake::none;
    } else if (flow == Flow::jump) {
      strand.time += instruction.cycles;
      strand.wake = Wake::none;
    } else {
      break;
    }
    if (in_time_order) bound = std::min(queue_.next_time(), limit);
  }
  statistics_.warp_instructions += executed;
}

void Cluster::report_deadlock() { throw SimulationError(deadlock_report(*this)); }

}  // namespace bw::sim
