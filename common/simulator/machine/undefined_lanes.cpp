#include "common/simulator/machine/undefined_lanes.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {

const UndefinedLanes::Entry* UndefinedLanes::find(uint32_t offset_bytes) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [=](const Entry& entry) {
    return entry.offset_bytes == offset_bytes;
  });
  return found == entries_.end() ? nullptr : &*found;
}

LaneMask UndefinedLanes::lanes(const Operand& operand) const {
  const Entry* const entry = operand.base == 0 ? find(operand.offset_bytes) : nullptr;
  return entry == nullptr ? 0 : entry->lanes;
}

const UndefinedLanes::Source& UndefinedLanes::source(const Operand& operand) const {
  return find(operand.offset_bytes)->source;
}

void UndefinedLanes::set(const Operand& operand, LaneMask written, LaneMask marked,
                         const Source& source) {
  if (operand.sink) return;
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& candidate) {
    return candidate.offset_bytes == operand.offset_bytes;
  });
  if (entry == entries_.end()) {
    if (marked != 0) entries_.push_back({operand.offset_bytes, marked, source});
    return;
  }
  entry->lanes = (entry->lanes & ~written) | marked;
  if (marked != 0) entry->source = source;
  if (entry->lanes == 0) entries_.erase(entry);
}

void UndefinedLanes::fault_use(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                               const Entry& entry, const char* use) const {
  const Kernel& kernel = strand.cluster->kernel();
  if (const Cta* const cta = entry.source.cta)
    Site{strand, instruction, lanes}.fault(unwritten_shared(
        *cta, entry.source.offset_bytes, entry.source.bytes,
        std::string(use) + " a value that was loaded from", strand, entry.source.instruction));
  const ptx::Instruction& shuffle = kernel.source(*entry.source.instruction);
  Site{strand, instruction, lanes}.fault(
      {.code = FaultCode::undefined_lane,
       .what =
           fmt::format("{} an undefined value: it comes from a shuffle that read lane {}, which "
                       "did not execute that shuffle with it",
                       use, entry.source.lane),
       .rule = "the result is undefined when the source lane is inactive or not in the membermask",
       .fix = "name the lane in the mask and let it execute, clamp the shuffle to the lanes taking "
              "part, or use the result only in lanes whose source takes part",
       .details = {fmt::format("the shuffle: {}: `{}`",
                               kernel.module().ptx().describe_location(shuffle), shuffle.opcode)},
       .section = kernel.form(*entry.source.instruction).section});
}

void UndefinedLanes::require_defined(const Strand& strand, const Instruction& instruction,
                                     const Operand& operand, LaneMask lanes) const {
  const Entry* const entry = operand.base == 0 ? find(operand.offset_bytes) : nullptr;
  if (entry != nullptr && (entry->lanes & lanes) != 0)
    fault_use(strand, instruction, entry->lanes & lanes, *entry, "this uses");
}

void UndefinedLanes::check_guard(const Strand& strand, const Instruction& instruction) const {
  const Entry* const entry = find(instruction.guard_offset_bytes);
  if (entry == nullptr) return;
  if (const LaneMask used = entry->lanes & strand.mask; used != 0)
    fault_use(strand, instruction, used, *entry, "whether this executes depends on");
}

void UndefinedLanes::before(const Strand& strand, const Instruction& instruction, LaneMask active) {
  if (entries_.empty() || instruction.marks == Marks::own) return;
  const Operand* const operands = instruction.operands;
  LaneMask marked = 0;
  Source source;
  for (uint16_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = operands[i];
    if (operand.written || operand.base != 0) continue;
    const Entry* const entry = find(operand.offset_bytes);
    if (entry == nullptr) continue;
    LaneMask used = entry->lanes & active;
    if (instruction.marks == Marks::select && i != 3) {
      const LaneMask takes_first = strand.predicate(operands[3]);
      used &= i == 1 ? takes_first : ~takes_first;
    }
    if (used == 0) continue;
    if (instruction.marks == Marks::use) fault_use(strand, instruction, used, *entry, "this uses");
    marked |= used;
    source = entry->source;
  }
  // The carry flag has no mark.
  if (marked != 0 && strand.cluster->kernel().source(instruction).match->writes_carry())
    fault_use(strand, instruction, marked, {0, marked, source}, "the carry flag depends on");
  for (uint16_t i = 0; i < instruction.operand_count; ++i)
    if (operands[i].written) set(operands[i], active, marked, source);
}

}  // namespace bw::sim
