#include "common/simulator/schedule/passes.hpp"

#include <algorithm>
#include <cstddef>

namespace bw::sim {
namespace {

/// Blocks, each before its successors except for those on the path to it. Unreachable blocks are at
/// the end.
std::vector<uint32_t> blocks_in_order(const ptx::FlowGraph& graph) {
  struct Visit {
    uint32_t block;
    size_t next = 0;  ///< of its successors
  };
  std::vector<uint8_t> seen(graph.blocks.size(), 0);
  std::vector<uint32_t> finished;
  const auto visit_from = [&](uint32_t first) {
    std::vector<Visit> open = {{first}};
    seen[first] = 1;
    while (!open.empty()) {
      Visit& at = open.back();
      const std::vector<uint32_t>& successors = graph.blocks[at.block].successors;
      if (at.next == successors.size()) {
        finished.push_back(at.block);
        open.pop_back();
        continue;
      }
      // The fall-through successor is the last of them, so that it is finished last.
      const uint32_t successor = successors[at.next++];
      if (seen[successor] != 0) continue;
      seen[successor] = 1;
      open.push_back({successor});
    }
  };
  if (!graph.blocks.empty()) visit_from(0);
  std::reverse(finished.begin(), finished.end());
  for (uint32_t block = 0; block < graph.blocks.size(); ++block)
    if (seen[block] == 0) finished.push_back(block);
  return finished;
}

}  // namespace

void place_code(const ptx::FlowGraph& graph, std::vector<IssueTimes>& times) {
  uint32_t place = 0;
  for (const uint32_t number : blocks_in_order(graph)) {
    const ptx::BasicBlock& block = graph.blocks[number];
    for (uint32_t i = block.first; i < block.last; ++i) {
      times[i].code_begin = place;
      place += times[i].issued;
    }
  }
}

uint64_t code_bytes(const std::vector<IssueTimes>& times) {
  uint64_t instructions = 0;
  for (const IssueTimes& of : times) instructions += of.issued;
  return kInstructionBytes * instructions;
}

}  // namespace bw::sim
