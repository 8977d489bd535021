#pragma once
/// \file
/// Registers that an instruction reads and writes, by its form and operands.

#include <cstddef>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// How many of an instruction's leading operands are destinations: 1 for most, 0 for stores,
/// branches, barriers and the like, 2 for `tcgen05.ld.red`. An address is never a destination: its
/// base is read.
[[nodiscard]] size_t destination_count(const Instruction& instruction) noexcept;

/// True if the destinations are read as well (accumulators of wgmma.mma_async).
[[nodiscard]] bool destinations_are_read(const Instruction& instruction) noexcept;

/// True for tcgen05.ld, whose destinations are written some time before tcgen05.wait::ld returns,
/// and for wgmma.mma_async, whose are written before a wgmma.wait_group returns.
[[nodiscard]] bool writes_asynchronously(const Instruction& instruction) noexcept;
/// True for tcgen05.wait::ld and wgmma.wait_group 0 without a guard: no register is written
/// asynchronously after it.
[[nodiscard]] bool ends_asynchronous_writes(const Instruction& instruction) noexcept;

/// Calls visit(register) for each register in the operand, however deep.
template <typename Visit>
void visit_operand_registers(const Operand& operand, Visit&& visit) {
  if (operand.kind == Operand::Kind::reg) visit(operand.reg);
  for (const Operand& element : operand.elements) visit_operand_registers(element, visit);
}

/// Calls visit(register) for each register that the instruction writes (under its guard, if it has
/// one).
template <typename Visit>
void visit_written_registers(const Instruction& instruction, Visit&& visit) {
  const size_t destinations = destination_count(instruction);
  for (size_t i = 0; i < destinations; ++i) {
    visit_operand_registers(instruction.operands[i], visit);
  }
}

/// Calls visit(register) for each register that the instruction reads, its guard included.
template <typename Visit>
void visit_read_registers(const Instruction& instruction, Visit&& visit) {
  if (instruction.has_guard) visit(instruction.guard);
  const size_t first = destinations_are_read(instruction) ? 0 : destination_count(instruction);
  for (size_t i = first; i < instruction.operands.size(); ++i) {
    visit_operand_registers(instruction.operands[i], visit);
  }
}

}  // namespace bw::sim::ptx
