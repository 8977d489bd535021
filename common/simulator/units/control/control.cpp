/// \file
/// Control: branches, exit, trap, calls of external functions.
#include <stdexcept>
#include <string>

#include "common/simulator/base/text.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/ptx/lower_jumps.hpp"
#include "common/simulator/units/control/device_calls.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim {
namespace {

using Kind = ptx::Operand::Kind;

Flow execute_branch(Strand& strand, const Instruction& instruction, LaneMask active) {
  return strand.cluster->branch(strand, instruction, active);
}

Flow execute_exit(Strand& strand, const Instruction&, LaneMask active) {
  return strand.cluster->exit_lanes(strand, active);
}

Flow execute_trap(Strand& strand, const Instruction& instruction, LaneMask active) {
  Site{strand, instruction, active}.fault(
      {.code = FaultCode::trap_executed,
       .what = "the kernel executed a trap",
       .rule = "trap aborts execution",
       .fix =
           "look at the condition that leads to this line: device code traps on a failed check"});
}

Flow execute_breakpoint(Strand& strand, const Instruction& instruction, LaneMask active) {
  Site{strand, instruction, active}.fault(
      {.code = FaultCode::breakpoint_executed,
       .what = "the kernel executed a breakpoint (brkpt)",
       .rule = "brkpt stops for a debugger, and none is attached",
       .fix = "look at the condition that leads to this line: CUTLASS uses it for failed checks"});
}

void execute_nothing(const LaneRegisters&, const Instruction&, LaneMask) {}

Flow execute_nanosleep(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (strand.resumed()) return Flow::next;
  const uint64_t nanoseconds = strand.value(instruction.operands[0], lowest_lane(active));
  const auto cycles =
      static_cast<Cycle>(strand.cluster->settings().cycles_of(static_cast<double>(nanoseconds)));
  return strand.block(WaitKind::sleep, nanoseconds, 0, std::max<Cycle>(cycles, 1));
}

void bind_branch(Binder& binder) {
  binder.expect_count(1, 1);
  const ptx::Operand& target = binder.ptx_operand(0);
  if (target.kind != Kind::label) binder.refuse("needs a label as its target", "");
  binder.out.target = static_cast<uint32_t>(target.value);
  binder.out.execute = execute_branch;
}

/// Of ptx::lower_jumps: none of the targets of an indirect call or branch. Operand: the register.
Flow execute_bad_call(Strand& strand, const Instruction& instruction, LaneMask active) {
  const int lane = lowest_lane(active);
  Site{strand, instruction, lane_bit(lane)}.fault(
      {.code = FaultCode::call_target,
       .what =
           "a call through a register that holds " +
           hex(strand.value(instruction.operands[0], lane)) +
           ", which isn't one of the module's functions with these parameters (or is one that is "
           "already running: recursion is not executed)",
       .rule = "the register holds the address of a function of the call's prototype",
       .fix = "set the pointer before the call; a pointer to a device function must be taken in "
              "device code of the same translation unit"});
}

Flow execute_bad_branch(Strand& strand, const Instruction& instruction, LaneMask active) {
  const int lane = lowest_lane(active);
  Site{strand, instruction, lane_bit(lane)}.fault(
      {.code = FaultCode::branch_index,
       .what = "a branch with the index " +
               std::to_string(strand.value(instruction.operands[0], lane)) +
               ", which is beyond its table",
       .rule = "the index names one of the labels",
       .fix = "check the index before the branch"});
}

template <StrandHandler handler, ptx::ScalarType type>
void bind_bad_target(Binder& binder) {
  binder.expect_count(1, 1);
  binder.source_value(binder.ptx_operand(0), type);
  binder.out.execute = handler;
}

template <auto handler, size_t operands = 0>
void bind_plain(Binder& binder) {
  binder.expect_count(operands, operands);
  binder.out.execute = handler;
}

void bind_nanosleep(Binder& binder) {
  binder.expect_count(1, 1);
  binder.source_value(binder.ptx_operand(0), ptx::ScalarType::u32);
  binder.out.execute = execute_nanosleep;
}

/// Of forms that are replaced before a kernel is decoded.
void bind_lowered(Binder& binder) {
  throw std::logic_error(binder.source.opcode + " is replaced by ptx::lower_jumps");
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              Effect effect, uint16_t cycles, Crossing crossing = Crossing::free) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = cycles,
          .section = base,
          .destinations = 0,
          .crossing = crossing};
}

constexpr InstructionForm moving_control(Transfer transfer, InstructionForm form) {
  form.transfer = transfer;
  return form;
}

constexpr InstructionForm jump_row(std::string_view base, BindFunction bind,
                                   std::string_view section) {
  return {.base = base,
          .modifiers = "",
          .bind = bind,
          .effect = Effect::warp,
          .cycles = costs::kBranch,
          .section = section,
          .destinations = 0};
}

constexpr InstructionForm kControlRows[] = {
    moving_control(Transfer::branch,
                   row("bra", "[uni]", bind_branch, Effect::warp, costs::kBranch)),
    // ptx::lower_jumps has replaced it by comparisons and branches.
    moving_control(Transfer::indexed_branch,
                   row("brx.idx", "[uni]", bind_lowered, Effect::warp, costs::kBranch)),
    moving_control(Transfer::function_return,
                   row("ret", "[uni]", bind_plain<execute_exit>, Effect::cluster, costs::kBranch)),
    moving_control(Transfer::thread_exit,
                   row("exit", "", bind_plain<execute_exit>, Effect::cluster, costs::kBranch)),
    moving_control(Transfer::trap,
                   row("trap", "", bind_plain<execute_trap>, Effect::warp, costs::kAlu)),
    row("brkpt", "", bind_plain<execute_breakpoint>, Effect::warp, costs::kAlu, Crossing::closed),
    row("pmevent", "[mask]", bind_plain<execute_nothing, 1>, Effect::lane, costs::kAlu,
        Crossing::closed),
    row("nanosleep", "type=u32", bind_nanosleep, Effect::cluster, costs::kAlu, Crossing::closed),
    moving_control(Transfer::call,
                   row("call", "[uni]", bind_device_call, Effect::cluster, costs::kBranch)),
    // What is left of indirect calls and brx.idx when ptx::lower_jumps has replaced them.
    jump_row(kBadCallTargetOpcode, bind_bad_target<execute_bad_call, ptx::ScalarType::b64>, "call"),
    jump_row(kBadBranchIndexOpcode, bind_bad_target<execute_bad_branch, ptx::ScalarType::b32>,
             "brx.idx"),
};

}  // namespace

Rows control_rows() { return kControlRows; }

}  // namespace bw::sim
