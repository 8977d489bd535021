#include "common/simulator/ptx/register_usage.hpp"

#include <algorithm>

namespace bw::sim::ptx {
namespace {

/// Opcodes whose first operand can be a register (or a vector) that is read. Stores, reductions,
/// prefetches and copies begin with an address and need no row.
constexpr std::string_view kNoDestination[] = {
    "bra",          "brx",       "call",    "ret",        "exit",
    "trap",         "brkpt",     "bar",     "barrier",    "membar",
    "fence",        "nanosleep", "pmevent", "setmaxnreg", "griddepcontrol",
    "stackrestore", "cp",        "wgmma",   "discard",    "applypriority",
    "prefetch",     "st",        "red",     "stmatrix",   "tensormap"};

/// Opcodes of the families above that do have a destination.
constexpr std::string_view kDestinationAfterAll[] = {"bar.red", "bar.cta.red", "barrier.red",
                                                     "barrier.cta.red", "wgmma.mma_async"};

/// Opcodes of other families that have none.
constexpr std::string_view kNoDestinationAfterAll[] = {"tcgen05.dealloc"};

/// True if the opcode is `prefix`, or `prefix` with modifiers behind it.
bool is_form_of(std::string_view opcode, std::string_view prefix) noexcept {
  return opcode.starts_with(prefix) &&
         (opcode.size() == prefix.size() || opcode[prefix.size()] == '.' ||
          opcode[prefix.size()] == ':');
}

template <size_t count>
bool is_form_of_any(std::string_view opcode, const std::string_view (&prefixes)[count]) noexcept {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return is_form_of(opcode, prefix); });
}

}  // namespace

size_t destination_count(const Instruction& instruction) noexcept {
  if (instruction.operands.empty()) return 0;
  const std::string_view opcode = instruction.opcode;
  if (is_form_of_any(opcode, kNoDestination) && !is_form_of_any(opcode, kDestinationAfterAll)) {
    return 0;
  }
  if (is_form_of_any(opcode, kNoDestinationAfterAll)) return 0;
  const Operand::Kind first = instruction.operands[0].kind;
  const bool is_memory = first == Operand::Kind::address || first == Operand::Kind::coordinates;
  if (is_memory) return 0;
  const bool is_reducing_load = is_form_of(opcode, "tcgen05.ld.red");
  return is_reducing_load && instruction.operands.size() > 1 ? 2 : 1;
}

bool destinations_are_read(const Instruction& instruction) noexcept {
  return is_form_of(instruction.opcode, "wgmma.mma_async");
}

bool writes_asynchronously(const Instruction& instruction) noexcept {
  return is_form_of(instruction.opcode, "tcgen05.ld") ||
         is_form_of(instruction.opcode, "wgmma.mma_async");
}

bool ends_asynchronous_writes(const Instruction& instruction) noexcept {
  if (instruction.has_guard) return false;
  if (is_form_of(instruction.opcode, "tcgen05.wait::ld")) return true;
  if (!is_form_of(instruction.opcode, "wgmma.wait_group") || instruction.operands.empty())
    return false;
  const Operand& pending = instruction.operands[0];
  return pending.kind == Operand::Kind::integer && pending.value == 0;
}

}  // namespace bw::sim::ptx
