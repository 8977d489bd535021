#pragma once
/// \file
/// Basic blocks of a flat instruction list.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// Consecutive instructions [first, last); control enters at the first and leaves after the last.
struct BasicBlock {
  uint32_t first = 0;                  ///< the first instruction
  uint32_t last = 0;                   ///< the last instruction
  std::vector<uint32_t> successors;    ///< block numbers, without the exit
  std::vector<uint32_t> predecessors;  ///< block numbers
  bool leaves_function =
      false;  ///< some or all lanes end here: ret, exit, trap, the end of the list
};

/// The blocks in the order of their instructions. Block 0 is the entry.
struct FlowGraph {
  /// Of a function.
  explicit FlowGraph(const Function& function);
  std::vector<BasicBlock> blocks;  ///< in the order of the text
  std::vector<uint32_t> block_of;  ///< per instruction
};

/// Calls visit(target) for each instruction that a branch names.
template <typename Visit>
void visit_branch_targets(const Instruction& branch, Visit&& visit) {
  for (const Operand& operand : branch.operands) {
    if (operand.kind == Operand::Kind::label) visit(static_cast<uint32_t>(operand.value));
    for (const Operand& element : operand.elements) {
      if (element.kind == Operand::Kind::label) visit(static_cast<uint32_t>(element.value));
    }
  }
}

}  // namespace bw::sim::ptx
