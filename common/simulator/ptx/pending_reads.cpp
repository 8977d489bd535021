#include "common/simulator/ptx/pending_reads.hpp"

#include <algorithm>
#include <unordered_set>

#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim::ptx {
namespace {

using Registers = std::unordered_set<uint32_t>;

/// The registers pending after an instruction, from those pending before it.
void step(const Instruction& instruction, Registers& pending) {
  if (ends_asynchronous_writes(instruction)) pending.clear();
  if (!instruction.has_guard && copies_register(instruction) &&
      pending.contains(instruction.operands[1].reg)) {
    pending.insert(instruction.operands[0].reg);
    return;
  }
  const bool issues = writes_asynchronously(instruction);
  if (pending.empty() && !issues) return;
  visit_written_registers(instruction, [&](uint32_t reg) {
    if (issues)
      pending.insert(reg);
    else if (!instruction.has_guard)
      pending.erase(reg);
  });
}

}  // namespace

bool copies_register(const Instruction& instruction) {
  return instruction.match->copies_word() && instruction.operands[0].kind == Operand::Kind::reg &&
         instruction.operands[1].kind == Operand::Kind::reg;
}

std::vector<PendingRead> reads_of_pending_registers(const Function& function) {
  const std::vector<Instruction>& instructions = function.instructions;
  if (std::none_of(instructions.begin(), instructions.end(), writes_asynchronously)) return {};
  const FlowGraph graph(function);
  // Pending on entry of each block: the union of the states after its predecessors.
  std::vector<Registers> pending_in(graph.blocks.size());
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const BasicBlock& block : graph.blocks) {
      Registers pending = pending_in[static_cast<size_t>(&block - graph.blocks.data())];
      for (uint32_t i = block.first; i < block.last; ++i) step(instructions[i], pending);
      for (const uint32_t successor : block.successors) {
        const size_t before = pending_in[successor].size();
        pending_in[successor].insert(pending.begin(), pending.end());
        has_changed |= pending_in[successor].size() != before;
      }
    }
  }
  std::vector<PendingRead> reads;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    Registers pending = std::move(pending_in[b]);
    for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i) {
      PendingRead read{i, {}};
      if (!pending.empty())
        visit_read_registers(instructions[i], [&](uint32_t reg) {
          if (pending.contains(reg)) read.registers.push_back(reg);
        });
      if (!read.registers.empty()) reads.push_back(std::move(read));
      step(instructions[i], pending);
    }
  }
  return reads;
}

}  // namespace bw::sim::ptx
