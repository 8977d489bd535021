#include "common/simulator/schedule/passes.hpp"

#include <algorithm>

namespace bw::sim {
namespace {

/// Blocks [first, last] in the order of the text.
struct Loop {
  uint32_t first = 0, last = 0;
};

bool waits(const ptx::Function& function, const ptx::BasicBlock& block) {
  for (uint32_t i = block.first; i < block.last; ++i)
    if (function.instructions[i].form().ordering == Ordering::test) return true;
  return false;
}

/// Whether an iteration of the loop can skip the block.
bool is_avoidable(const ptx::FlowGraph& graph, const Loop& loop, uint32_t block) {
  if (block == loop.first || block == loop.last) return false;
  std::vector<uint8_t> seen(graph.blocks.size(), 0);
  std::vector<uint32_t> open = {loop.first};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == loop.last) return true;
    if (seen[at] != 0 || at == block) continue;
    seen[at] = 1;
    for (const uint32_t to : graph.blocks[at].successors)
      if (loop.first < to && to <= loop.last) open.push_back(to);
  }
  return false;
}

}  // namespace

std::vector<uint8_t> blocks_that_keep_constants(const ptx::Function& function,
                                                const ptx::FlowGraph& graph) {
  std::vector<Loop> loops;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b)
    for (const uint32_t to : graph.blocks[b].successors) {
      if (to > b || (to == b && waits(function, graph.blocks[b]))) continue;
      const auto same = std::find_if(loops.begin(), loops.end(),
                                     [&](const Loop& loop) { return loop.first == to; });
      if (same == loops.end())
        loops.push_back({to, b});
      else
        same->last = b;
    }
  std::vector<uint8_t> result(graph.blocks.size(), 0);
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    const Loop* around = nullptr;
    for (const Loop& loop : loops)
      if (loop.first <= b && b <= loop.last &&
          (around == nullptr || loop.last - loop.first < around->last - around->first))
        around = &loop;
    if (around == nullptr) continue;
    const bool has_loop = std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) {
      return &loop != around && around->first <= loop.first && loop.last <= around->last;
    });
    result[b] = has_loop || is_avoidable(graph, *around, b) ? 1 : 0;
  }
  return result;
}

}  // namespace bw::sim
