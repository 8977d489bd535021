/// \file
/// mbarrier.test_wait, try_wait, pending_count and check_layout.
#include <algorithm>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/synchronisation/mbarrier_operations.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::mbarrier_operations {
namespace {

using ptx::ScalarType;

/// Instruction::flags of a wait, above the address space.
enum WaitFlag : uint8_t { kParity = 1 << 2, kTry = 1 << 3, kHasHint = 1 << 4 };

/// The barrier one lane names.
Mbarrier& barrier_of(Strand& strand, const Instruction& instruction, int lane) {
  const uint64_t address =
      lane_address(strand, instruction.operands[1], instruction.immediate, lane);
  const SharedPlace place =
      resolve_shared({strand, instruction, lane_bit(lane)}, address_space(instruction.flags),
                     address, kMbarrierBytes, kMbarrierBytes);
  if (place.cta != strand.cta) {
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::mbarrier_of_other_cta,
         .what = fmt::format("a wait on a barrier of CTA rank {} by a thread of CTA rank {}",
                             place.cta->rank, strand.cta->rank),
         .rule = "waits work on the executing CTA's .shared::cta memory",
         .fix = "wait on a barrier in this CTA and have the other CTA arrive on it"});
  }
  return units_of(*place.cta).mbarriers.require(place.offset_bytes, strand, instruction);
}

/// Whether the phase that the state or parity of `lanes`, all the same, names is complete.
bool is_complete(Strand& strand, const Instruction& instruction, Mbarrier& barrier,
                 LaneMask lanes) {
  const int lane = lowest_lane(lanes);
  const uint64_t value = strand.value(instruction.operands[2], lane);
  const bool at_isa_level = strand.cluster->at_isa_level();
  uint32_t behind = 0;  // phases between the one asked for and the current one
  if ((instruction.flags & kParity) != 0) {
    const auto parity = static_cast<uint32_t>(value);
    if (parity > 1 && at_isa_level) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::mbarrier_parity,
           .what = fmt::format("phase parity {}", parity),
           .rule = "the parity of a phase is 0 or 1",
           .fix = "pass (phase & 1)",
           .hardware_accepts = true});
    }
    behind = (barrier.phase & 1) != (parity & 1) ? 1 : 0;
  } else {
    if (!mbarrier_state::is_valid(value)) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::mbarrier_state_invalid,
           .what = "the state operand is not a value that mbarrier.arrive returned",
           .rule = "state is the result of an arrive on the same object",
           .fix = "keep the arrive's destination register, or wait with .parity"});
    }
    behind = static_cast<uint32_t>(barrier.phase) - mbarrier_state::phase(value);
    if (behind > 1 && at_isa_level) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::mbarrier_state_stale,
           .what = fmt::format("the state is from phase {}, but the barrier is in phase {}",
                               mbarrier_state::phase(value), barrier.phase),
           .rule = "a wait names the current or the immediately preceding phase",
           .fix = "wait for each phase before the next one completes",
           .hardware_accepts = true});
    }
  }
  const bool complete = behind != 0;
  if (complete) {
    barrier.observed_phase = barrier.phase;
    units_of(strand).mbarriers.note_observed(barrier, strand.time);
    strand.warp->last_acquire = strand.time;
  }
  units_of(strand).mbarriers.notify_test(barrier, static_cast<int64_t>(barrier.phase) - behind,
                                         complete, (instruction.flags & kTry) != 0, strand,
                                         instruction, lanes);
  return complete;
}

Cycle time_limit(const Strand& strand, const Instruction& instruction, LaneMask active) {
  if ((instruction.flags & kHasHint) == 0) return costs::kTryWaitLimit;
  uint64_t longest = 0;
  for (const int lane : lanes_of(active))
    longest = std::max(longest, strand.value(instruction.operands[3], lane) & ~0u);
  const double cycles = strand.cluster->settings().cycles_of(static_cast<double>(longest));
  return std::max<Cycle>(1, static_cast<Cycle>(cycles));
}

void forget_waiter(Mbarrier& barrier, const Strand& strand) {
  std::erase_if(barrier.waiters,
                [&](const Mbarrier::Waiter& waiter) { return waiter.strand == &strand; });
}

/// Suspends on a barrier's current phase. A loop around try_wait is one wait: reports tell since
/// when.
Flow suspend(Strand& strand, const Instruction& instruction, LaneMask active,
             const Mbarrier& barrier) {
  const Wait previous = strand.wait;
  const uint64_t parity = barrier.phase & 1;
  const Flow flow = strand.block(WaitKind::mbarrier, barrier.offset_bytes, parity,
                                 time_limit(strand, instruction, active));
  if (previous.kind == WaitKind::mbarrier && previous.object == barrier.offset_bytes &&
      previous.detail == parity && previous.since >= barrier.phase_start)
    strand.wait.since = previous.since;
  return flow;
}

/// Tells observers that a wait that had suspended passes, because its phase is complete.
void notify_pass(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (!strand.cluster->observed(EventKind::order)) return;
  const auto offset = static_cast<uint32_t>(strand.wait.object);
  const Mbarrier* const barrier = units_of(strand).mbarriers.find(offset);
  if (barrier == nullptr) return;
  OrderEvent event{.operation = OrderEvent::Operation::mbarrier_pass,
                   .origin = strand.origin(instruction, active),
                   .cycle = strand.time};
  // The last complete phase with the parity that was waited for.
  event.phase = barrier->phase - ((barrier->phase & 1) != (strand.wait.detail & 1) ? 1 : 2);
  event.cta_rank = static_cast<uint16_t>(strand.cta->rank);
  event.offset_bytes = offset;
  strand.cluster->notify(&Observer::on_order, event);
}

/// The answer to a test that does not suspend comes later; who uses it waits.
void answer_arrives(Strand& strand, const Instruction& instruction) {
  if (strand.wake != Wake::none) return;
  const Cycle cycles = strand.cluster->costs().mbarrier_answer();
  if (cycles != 0)
    strand.value_arrives(LoadSource::shared_memory, instruction.scoreboard, strand.time + cycles);
}

/// Lanes that wait on one barrier for one phase: the usual case.
Flow uniform_wait(Strand& strand, const Instruction& instruction, LaneMask active) {
  const int lane = lowest_lane(active);
  const Operand& result = instruction.operands[0];
  if (strand.wake == Wake::event) {
    // Woken by the completion of the phase. It counts even when the next phase is complete by now.
    notify_pass(strand, instruction, active);
    strand.set_predicate(result, active, kAllLanes);
    return Flow::next;
  }
  Mbarrier& barrier = barrier_of(strand, instruction, lane);
  const bool complete = is_complete(strand, instruction, barrier, active);
  if (strand.wake == Wake::timeout) forget_waiter(barrier, strand);
  if (!complete && (instruction.flags & kTry) != 0 && strand.wake == Wake::none) {
    const Flow flow = suspend(strand, instruction, active, barrier);
    barrier.waiters.push_back({&strand, strand.wait_token});
    return flow;
  }
  strand.set_predicate(result, active, complete ? kAllLanes : 0);
  answer_arrives(strand, instruction);
  return Flow::next;
}

/// Lanes with different barriers or phases: returns as soon as one lane's phase is complete.
Flow mixed_wait(Strand& strand, const Instruction& instruction, LaneMask active) {
  LaneMask complete = 0;
  for (const int lane : lanes_of(active)) {
    Mbarrier& barrier = barrier_of(strand, instruction, lane);
    forget_waiter(barrier, strand);
    if (is_complete(strand, instruction, barrier, lane_bit(lane))) complete |= lane_bit(lane);
  }
  if (complete == 0 && (instruction.flags & kTry) != 0 && strand.wake == Wake::none) {
    const Mbarrier& first = barrier_of(strand, instruction, lowest_lane(active));
    const Flow flow = suspend(strand, instruction, active, first);
    for (const int lane : lanes_of(active)) {
      Mbarrier& barrier = barrier_of(strand, instruction, lane);
      forget_waiter(barrier, strand);
      barrier.waiters.push_back({&strand, strand.wait_token});
    }
    return flow;
  }
  strand.set_predicate(instruction.operands[0], active, complete);
  answer_arrives(strand, instruction);
  return Flow::next;
}

Flow wait(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (is_uniform(strand, instruction.operands[1], active) &&
      is_uniform(strand, instruction.operands[2], active))
    return uniform_wait(strand, instruction, active);
  return mixed_wait(strand, instruction, active);
}

Flow pending_count(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (const int lane : lanes_of(active)) {
    const uint64_t state = strand.value(instruction.operands[1], lane);
    if (!mbarrier_state::is_valid(state)) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::mbarrier_state_invalid,
           .what = "the state operand is not a value that mbarrier.arrive returned",
           .rule = "pending_count decodes the state that an arrive returned",
           .fix = "pass the arrive's destination register"});
    }
    strand.set_value(instruction.operands[0], lane, mbarrier_state::pending(state));
  }
  return Flow::next;
}

/// Whether the location holds an object of the layout that the form names.
Flow check_layout(Strand& strand, const Instruction& instruction, LaneMask active) {
  LaneMask same = 0;
  for (const int lane : lanes_of(active)) {
    const Mbarrier& barrier = barrier_of(strand, instruction, lane);
    if (barrier.layout == ((instruction.flags & kLayoutOne) != 0 ? 1 : 0)) same |= lane_bit(lane);
  }
  strand.set_predicate(instruction.operands[0], active, same);
  return Flow::next;
}

void bind_check_layout(Binder& binder) {
  binder.expect_count(2, 2);
  binder.out.flags = space_flag(binder.modifiers);
  if (binder.modifiers.get("layout") == "layout::v1") binder.out.flags |= kLayoutOne;
  binder.destination(binder.ptx_operand(0), 0);
  binder.address(binder.ptx_operand(1));
  binder.out.execute = check_layout;
}

/// A wait that also answers whether something was reported. No form that is executed reports: the
/// answer is no, as it always is for .layout::v0.
Flow wait_for_report(Strand& strand, const Instruction& instruction, LaneMask active) {
  const Flow flow = wait(strand, instruction, active);
  if (flow == Flow::next)
    strand.set_predicate(instruction.operands[instruction.operand_count - 1], active, 0);
  return flow;
}

void bind_wait(Binder& binder, uint8_t form, size_t most_operands) {
  binder.expect_count(3, most_operands);
  check_sem_and_scope(binder);
  const bool parity = binder.modifiers.has("parity");
  binder.out.flags =
      static_cast<uint8_t>(form | space_flag(binder.modifiers) | (parity ? kParity : 0));
  const ptx::Operand& result = binder.ptx_operand(0);
  const bool reports = result.kind == ptx::Operand::Kind::pair;
  if (reports && !binder.modifiers.has("phase_type::primary"))
    binder.refuse("has two predicates", "write .phase_type::primary, or one predicate");
  binder.destination(reports ? result.elements[0] : result, 0);
  if (reports && binder.ptx_operand(1).kind == ptx::Operand::Kind::reg)
    binder.refuse("has an operand for the report's value",
                  "leave it out: no form that the simulator executes reports");
  binder.address(binder.ptx_operand(1));
  binder.source_value(binder.ptx_operand(2), parity ? ScalarType::u32 : ScalarType::b64);
  if (binder.count() == 4) {
    binder.out.flags |= kHasHint;
    binder.source_value(binder.ptx_operand(3), ScalarType::u32);
  }
  if (reports) binder.destination(result.elements[1], 0);
  binder.out.execute = reports ? wait_for_report : wait;
}

void bind_test_wait(Binder& binder) { bind_wait(binder, 0, 3); }
void bind_try_wait(Binder& binder) { bind_wait(binder, kTry, 4); }

void bind_pending_count(Binder& binder) {
  constexpr size_t kCountBytes = 4;
  binder.expect_count(2, 2);
  binder.destination(binder.ptx_operand(0), kCountBytes);
  binder.source_value(binder.ptx_operand(1), ScalarType::b64);
  binder.out.execute = pending_count;
}

constexpr std::string_view kPlain =
    "[parity] [sem=acquire|relaxed] [scope=cta|cluster] [space=shared|shared::cta] b64";
constexpr std::string_view kPrimary =
    "[parity] phase_type::primary [sem=acquire|relaxed] [scope=cta|cluster] "
    "[space=shared|shared::cta] b64";
// Without reports the conditional phase completes together with the primary one.
constexpr std::string_view kConditional =
    "parity phase_type::conditional [sem=acquire|relaxed] [scope=cta|cluster] "
    "[space=shared|shared::cta] b64";

constexpr InstructionForm wait_row(std::string_view base, std::string_view modifiers,
                                   BindFunction bind) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kMbarrierWait,
          .section = "mbarrier.test_wait, mbarrier.try_wait",
          .unit = Unit::mbarrier,
          .ordering = Ordering::test,
          .crossing = Crossing::arithmetic};
}

constexpr InstructionForm kWaitRows[] = {
    wait_row("mbarrier.test_wait", kPlain, bind_test_wait),
    wait_row("mbarrier.test_wait", kPrimary, bind_test_wait),
    wait_row("mbarrier.test_wait", kConditional, bind_test_wait),
    wait_row("mbarrier.try_wait", kPlain, bind_try_wait),
    wait_row("mbarrier.try_wait", kPrimary, bind_try_wait),
    wait_row("mbarrier.try_wait", kConditional, bind_try_wait),
    {.base = "mbarrier.check_layout",
     .modifiers = "layout=layout::v0|layout::v1 [space=shared|shared::cta] b64",
     .bind = bind_check_layout,
     .effect = Effect::cluster,
     .cycles = costs::kSharedAccess,
     .section = "mbarrier.check_layout",
     .unit = Unit::mbarrier},
    {.base = "mbarrier.pending_count",
     .modifiers = "b64",
     .bind = bind_pending_count,
     .effect = Effect::warp,
     .cycles = costs::kAlu,
     .section = "mbarrier.pending_count",
     .unit = Unit::mbarrier},
};

}  // namespace

Rows wait_rows() { return kWaitRows; }

}  // namespace bw::sim::mbarrier_operations
