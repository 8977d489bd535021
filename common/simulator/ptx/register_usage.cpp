#include "common/simulator/ptx/register_usage.hpp"

#include <algorithm>

namespace bw::sim::ptx {
size_t destination_count(const Instruction& instruction) noexcept {
  if (instruction.operands.empty()) return 0;
  const Operand::Kind first = instruction.operands[0].kind;
  const bool is_memory = first == Operand::Kind::address || first == Operand::Kind::coordinates;
  return is_memory ? 0
                   : std::min<size_t>(instruction.form().destinations, instruction.operands.size());
}

bool destinations_are_read(const Instruction& instruction) noexcept {
  return instruction.form().reads_destinations;
}

bool writes_asynchronously(const Instruction& instruction) noexcept {
  return instruction.form().writes_later;
}

bool ends_asynchronous_writes(const Instruction& instruction) noexcept {
  const InstructionForm& form = instruction.form();
  if (instruction.has_guard || form.ordering != Ordering::wait) return false;
  if (form.unit == Unit::tensor_load) return true;
  if (form.unit != Unit::wgmma || instruction.operands.empty()) return false;
  const Operand& pending = instruction.operands[0];
  return pending.kind == Operand::Kind::integer && pending.value == 0;
}

}  // namespace bw::sim::ptx
