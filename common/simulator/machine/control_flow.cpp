/// \file
/// Divergence and reconvergence of a warp's lanes.
///
/// At a divergent branch the lanes part into two strands that meet again at the branch's immediate
/// post-dominator. Each strand runs on its own, so one lane can spin on a barrier while the others
/// wait at the meeting point: every thread makes progress, as the hardware's independent thread
/// scheduling promises.
#include <algorithm>
#include <utility>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/ptx/control_flow.hpp"

namespace bw::sim {
namespace {

void set_frame(Strand& strand, Reconvergence* frame) {
  strand.frame = frame;
  strand.reconvergence_point = frame == nullptr ? ptx::kNoReconvergence : frame->point;
}

/// At the level `hardware` lanes that have waited in vain for the rest of their warp execute the
/// .aligned instruction alone (require_other_lanes).
void go_on_apart(Strand& strand) {
  strand.wait = {WaitKind::reconvergence, strand.pc, 0, strand.time};
}

}  // namespace

Flow Cluster::branch(Strand& strand, const Instruction& instruction, LaneMask taken) {
  const LaneMask others = strand.mask & ~taken;
  if (others == 0) {
    strand.pc = instruction.target;
    return Flow::jump;
  }
  Warp& warp = *strand.warp;
  const uint32_t point = instruction.reconvergence;
  // Lanes that leave a loop one after the other all meet at the same point: one frame serves them.
  if (point != ptx::kNoReconvergence && strand.reconvergence_point != point) {
    Reconvergence* const frame = warp.new_frame();
    frame->point = point;
    frame->branch = strand.pc;
    frame->expected = strand.mask;
    frame->parent = strand.frame;
    // A branch that costs nothing if not taken is not a branch: its body is predicated.
    frame->cost = instruction.skip_cycles != 0 ? costs_.reconvergence() : 0;
    set_frame(strand, frame);
  }
  const uint32_t fall_through = strand.pc + 1;
  strand.mask = others;
  if (instruction.target == strand.reconvergence_point) {
    strand.frame->arrived |=
        taken;  // a branch over a block: these lanes are at the meeting point already
    strand.frame->latest = std::max(strand.frame->latest, strand.time);
    fault_lanes_left_behind(warp, *strand.frame);
  } else {
    Strand* const other = warp.new_strand();
    other->mask = taken;
    other->pc = instruction.target;
    other->arrives = strand.arrives;
    other->from_device = strand.from_device;
    set_frame(*other, strand.frame);
    make_ready(*other, strand.time + instruction.cycles);
    other->slots_from = other->time;
  }
  strand.pc = fall_through;
  return Flow::jump;
}

bool Cluster::rejoin(Strand& strand) {
  Warp& warp = *strand.warp;
  while (strand.frame != nullptr && strand.pc == strand.frame->point) {
    Reconvergence* const frame = strand.frame;
    frame->arrived |= strand.mask;
    frame->latest = std::max(frame->latest, strand.time);
    if (frame->arrived != frame->expected) {
      strand.alive = false;
      fault_lanes_left_behind(warp, *frame);
      return false;
    }
    strand.mask = frame->expected;
    strand.time = strand.slots_from = frame->latest + frame->cost;
    set_frame(strand, frame->parent);
    warp.free_frames.push_back(frame);
  }
  return true;
}

void Cluster::finish_frames(Warp& warp, Reconvergence* innermost, LaneMask exited, Cycle time) {
  for (Reconvergence* frame = innermost; frame != nullptr; frame = frame->parent)
    frame->expected &= ~exited;
  for (Reconvergence* frame = innermost; frame != nullptr;) {
    Reconvergence* const parent = frame->parent;
    if (frame->expected == 0) {
      // All its lanes have exited, so the lanes outside no longer wait for this frame.
      warp.free_frames.push_back(frame);
      frame = parent;
      continue;
    }
    if (frame->arrived != frame->expected) return;
    Strand* const joined = warp.new_strand();
    joined->mask = frame->expected;
    joined->pc = frame->point;
    joined->time = joined->slots_from = std::max(frame->latest, time);
    set_frame(*joined, parent);
    warp.free_frames.push_back(frame);
    if (rejoin(*joined)) make_ready(*joined, joined->time);
    return;
  }
}

Strand* Cluster::waiting_lanes(const Warp& warp) const {
  for (const WaitingLanes& waiting : waiting_lanes_)
    if (waiting.strand->warp == &warp) return waiting.strand;
  return nullptr;
}

void Cluster::fault_lanes_left_behind(const Warp& warp, const Reconvergence& frame) {
  if (waiting_lanes_.empty()) return;
  const Strand* const waiting = waiting_lanes(warp);
  for (const Reconvergence* outer = waiting == nullptr ? nullptr : waiting->frame; outer != nullptr;
       outer = outer->parent)
    if (outer == &frame) fault_waiting_lanes(warp);
}

std::exception_ptr Cluster::forget_waiting_lanes(const Warp& warp) {
  std::exception_ptr fault;
  std::erase_if(waiting_lanes_, [&](WaitingLanes& waiting) {
    if (waiting.strand->warp != &warp) return false;
    fault = std::move(waiting.fault);
    return true;
  });
  return fault;
}

void Cluster::fault_waiting_lanes(const Warp& warp) {
  if (waiting_lanes_.empty()) return;
  Strand* const strand = waiting_lanes(warp);
  if (strand == nullptr) return;
  if (const std::exception_ptr fault = forget_waiting_lanes(warp)) std::rethrow_exception(fault);
  go_on_apart(*strand);
  make_ready(*strand, std::max(now_, strand->time));
}

void Cluster::wait_for_lanes(Strand& strand, std::exception_ptr fault) {
  Warp& warp = *strand.warp;
  Strand* other = waiting_lanes(warp);
  if (other != nullptr && (other->pc != strand.pc || other->frame != strand.frame)) {
    fault_waiting_lanes(warp);
    other = nullptr;
  }
  if (other != nullptr) {
    (void)forget_waiting_lanes(warp);
    other->alive = false;
    strand.mask |= other->mask;
    strand.time = std::max(strand.time, other->time);
    for (size_t i = 0; i < kScoreboards; ++i)
      strand.arrives[i] = std::max(strand.arrives[i], other->arrives[i]);
    strand.from_device = static_cast<uint8_t>(strand.from_device | other->from_device);
    if (strand.mask == warp.live) {
      make_ready(strand, strand.time);
      return;
    }
  }
  LaneMask on_their_way = strand.mask;
  for (const auto& running : warp.strands)
    if (running->alive && !running->suspended) on_their_way |= running->mask;
  if (on_their_way != warp.live) {
    if (fault != nullptr) std::rethrow_exception(fault);
    go_on_apart(strand);
    make_ready(strand, strand.time);
    return;
  }
  waiting_lanes_.push_back({&strand, std::move(fault)});
}

Flow Cluster::yield_after(Strand& strand, const Instruction& instruction) {
  ++strand.pc;
  strand.wake = Wake::none;
  make_ready(strand, strand.time + instruction.cycles);
  return Flow::gone;
}

Flow Cluster::exit_lanes(Strand& strand, LaneMask lanes) {
  // A warp that runs alone is ahead of the event queue, so the run lasts until its last exit.
  statistics_.cycles = std::max(statistics_.cycles, strand.time - start_);
  Warp& warp = *strand.warp;
  warp.live &= ~lanes;
  strand.mask &= ~lanes;
  Reconvergence* const frame = strand.frame;
  const Cycle time = strand.time;
  const bool ends = strand.mask == 0;
  if (ends) {
    strand.alive = false;
    // Nobody waits for the slots of the last stretch any more.
    if (strand.pc < kernel().code().size()) {
      const uint16_t slots = kernel().code()[strand.pc].issue_slots;
      warp.times.issue_slots += slots;
      warp.counted_slots += slots;
      warp.times.issued += kernel().code()[strand.pc].issued;
    }
  }
  // Frames of lanes that still run keep those lanes in `expected`, so only frames without them
  // complete.
  if (frame != nullptr) {
    if (ends) {
      finish_frames(warp, frame, lanes, time);
    } else {
      for (Reconvergence* outer = frame; outer != nullptr; outer = outer->parent)
        outer->expected &= ~lanes;
    }
  }
  on_lanes_exit(warp, lanes, time);
  return ends ? Flow::gone : Flow::next;
}

}  // namespace bw::sim
