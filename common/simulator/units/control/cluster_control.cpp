/// \file
/// mapa, getctarank, griddepcontrol and setmaxnreg (PTX ISA 9.0).
#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr uint8_t kGeneric = 1;

/// The 32-bit shared-window address in a generic or shared address operand.
uint32_t window_address(const Strand& strand, const Instruction& instruction,
                        const Operand& operand, int lane) {
  const uint64_t address = strand.value(operand, lane);
  if ((instruction.flags & kGeneric) != 0 &&
      space_of_generic(address) != AddressSpace::shared_cluster) {
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::not_shared_address,
         .what = "the generic address does not point to shared memory",
         .rule = "the operand is an address in shared memory",
         .fix = "pass the address of a shared variable"});
  }
  return static_cast<uint32_t>(address);
}

Flow mapa(Strand& strand, const Instruction& instruction, LaneMask active) {
  const Operand* const operands = instruction.operands;
  const uint64_t window = (instruction.flags & kGeneric) != 0 ? kSharedWindow : 0;
  for (const int lane : lanes_of(active)) {
    const uint32_t address = window_address(strand, instruction, operands[1], lane);
    const uint64_t rank = strand.value(operands[2], lane);
    if (rank >= strand.cluster->size()) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::unknown_cta_rank,
           .what = fmt::format("CTA rank {} in a cluster of {}", rank, strand.cluster->size()),
           .rule = "the rank names a CTA of the cluster",
           .fix = "use a rank below %cluster_nctarank, and launch with the cluster size the kernel "
                  "expects"});
    }
    strand.set_value(operands[0], lane,
                     window | rank << kSharedRankShift | (address & kSharedOffsetMask));
  }
  return Flow::next;
}

Flow getctarank(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (const int lane : lanes_of(active)) {
    const uint32_t address = window_address(strand, instruction, instruction.operands[1], lane);
    strand.set_value(instruction.operands[0], lane, address >> kSharedRankShift);
  }
  return Flow::next;
}

void note_space(Binder& binder) {
  if (!binder.modifiers.has("shared::cluster")) binder.out.flags |= kGeneric;
}

void bind_mapa(Binder& binder) {
  binder.expect_count(3, 3);
  note_space(binder);
  const ScalarType type = binder.modifiers.type();
  binder.destination(binder.ptx_operand(0), ptx::size_bytes(type));
  binder.source_value(binder.ptx_operand(1), type);
  binder.source_value(binder.ptx_operand(2), ScalarType::u32);
  binder.out.execute = mapa;
}

void bind_getctarank(Binder& binder) {
  constexpr size_t kRankBytes = 4;
  binder.expect_count(2, 2);
  note_space(binder);
  binder.destination(binder.ptx_operand(0), kRankBytes);
  binder.source_value(binder.ptx_operand(1), binder.modifiers.type());
  binder.out.execute = getctarank;
}

void notify_grid(OrderEvent::Operation operation, Strand& strand, const Instruction& instruction,
                 LaneMask active) {
  if (strand.cluster->observed(EventKind::order))
    strand.cluster->notify(&Observer::on_order,
                           OrderEvent{.operation = operation,
                                      .origin = strand.origin(instruction, active),
                                      .cycle = strand.time});
}

/// The grid before this one has been executed to its end, but in simulated time it may still run.
Flow wait_for_grid(Strand& strand, const Instruction& instruction, LaneMask active) {
  Cluster& cluster = *strand.cluster;
  const Cycle until = cluster.grid().previous_grid_ends(cluster.index());
  if (!strand.resumed() && strand.time < until) {
    cluster.at(until, [&cluster, waiting = &strand](Cycle now) { cluster.wake(*waiting, now); });
    return strand.block(WaitKind::previous_grid, 0, 0);
  }
  notify_grid(OrderEvent::Operation::grid_wait, strand, instruction, active);
  return Flow::next;
}

Flow launch_dependents(Strand& strand, const Instruction& instruction, LaneMask active) {
  Cta& cta = *strand.cta;
  cta.triggered = std::min(cta.triggered, strand.time);
  notify_grid(OrderEvent::Operation::grid_launch_dependents, strand, instruction, active);
  return Flow::next;
}

void bind_griddepcontrol(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.execute = binder.modifiers.get("action") == "wait" ? wait_for_grid : launch_dependents;
}

constexpr int64_t kLeastRegisters = 24;
constexpr int64_t kMostRegisters = 256;
constexpr uint32_t kWarpgroupThreads = 128;

Flow increase_registers(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  RegisterPool& registers = units_of(strand).registers;
  const auto threads = static_cast<uint32_t>(strand.cta->warps.size()) * uint32_t{kWarpLanes};
  const int64_t at_launch = registers.at_launch(), all = at_launch * threads;
  const uint32_t group = std::min(threads, kWarpgroupThreads);
  const int64_t least = instruction.immediate * group + kLeastRegisters * (threads - group);
  if (least > all) {
    Site{strand, instruction, active}.fault(
        {.code = FaultCode::register_pool,
         .what =
             fmt::format("setmaxnreg.inc to {} registers can never be satisfied: a CTA of {} "
                         "threads has {} registers ({} a thread), and one warpgroup with that many "
                         "needs {} even if all others keep only {}",
                         instruction.immediate, threads, all, at_launch, least, kLeastRegisters),
         .rule = "setmaxnreg.inc blocks until the CTA's register pool has enough",
         .fix = "ask for fewer registers, or launch fewer threads"});
  }
  const bool has_waited = strand.resumed();
  const Flow flow = registers.increase(strand, instruction.immediate);
  if (flow == Flow::next) strand.time += strand.cluster->costs().registers_taken(has_waited);
  return flow;
}

Flow decrease_registers(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  units_of(strand).registers.decrease(strand, instruction.immediate);
  strand.time += strand.cluster->costs().registers_given();
  return Flow::next;
}

void bind_setmaxnreg(Binder& binder) {
  binder.expect_count(1, 1);
  const int64_t count = binder.immediate(binder.ptx_operand(0));
  if (count < kLeastRegisters || count > kMostRegisters || count % kRegisterGranularity != 0) {
    binder.refuse(fmt::format("has a register count of {}", count),
                  "the count is a multiple of 8 from 24 to 256");
  }
  binder.out.immediate = count;
  binder.out.execute =
      binder.modifiers.get("action") == "inc" ? increase_registers : decrease_registers;
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers,
                              BindFunction bind) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::warp,
          .cycles = costs::kAlu,
          .section = base};
}

constexpr InstructionForm waiting_row(std::string_view base, std::string_view modifiers,
                                      BindFunction bind, Effect effect) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = costs::kAlu,
          .section = base,
          .destinations = 0,
          .crossing = Crossing::closed};
}

constexpr InstructionForm kClusterRows[] = {
    row("mapa", "[shared::cluster] type=u32|u64", bind_mapa),
    row("getctarank", "[shared::cluster] type=u32|u64", bind_getctarank),
    waiting_row("griddepcontrol", "action=launch_dependents|wait", bind_griddepcontrol,
                Effect::warp),
    waiting_row("setmaxnreg", "action=inc|dec sync aligned u32", bind_setmaxnreg, Effect::cluster),
};

}  // namespace

Rows cluster_rows() { return kClusterRows; }

}  // namespace bw::sim
