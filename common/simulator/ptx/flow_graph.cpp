#include "common/simulator/ptx/flow_graph.hpp"

#include <algorithm>

namespace bw::sim::ptx {

FlowGraph::FlowGraph(const Function& function) {
  const std::vector<Instruction>& instructions = function.instructions;
  const auto count = static_cast<uint32_t>(instructions.size());
  // A label may follow the last instruction: a branch to it leaves the function.
  std::vector<uint8_t> begins_block(count + 1, 0);
  begins_block[0] = 1;
  for (uint32_t i = 0; i < count; ++i) {
    if (!ends_block(instructions[i].form().transfer)) continue;
    begins_block[i + 1] = 1;
    visit_branch_targets(instructions[i], [&](uint32_t target) { begins_block[target] = 1; });
  }

  block_of.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (begins_block[i] != 0) {
      blocks.emplace_back();
      blocks.back().first = i;
    }
    block_of[i] = static_cast<uint32_t>(blocks.size() - 1);
    blocks.back().last = i + 1;
  }

  for (uint32_t b = 0; b < blocks.size(); ++b) {
    BasicBlock& block = blocks[b];
    const auto flows_to = [&](uint32_t target) {
      if (target >= count) {
        block.leaves_function = true;
        return;
      }
      const uint32_t successor = block_of[target];
      if (std::find(block.successors.begin(), block.successors.end(), successor) ==
          block.successors.end()) {
        block.successors.push_back(successor);
      }
    };
    const Instruction& last = instructions[block.last - 1];
    const Transfer transfer = last.form().transfer;
    if (branches(transfer)) visit_branch_targets(last, flows_to);
    if (leaves(transfer)) block.leaves_function = true;
    if (!ends_block(transfer) || last.has_guard) flows_to(block.last);
    for (const uint32_t successor : block.successors) {
      blocks[successor].predecessors.push_back(b);
    }
  }
}

}  // namespace bw::sim::ptx
