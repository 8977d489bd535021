/// \file
/// Reconvergence points: immediate post-dominators on basic blocks, by the iteration of Cooper,
/// Harvey and Kennedy ("A Simple, Fast Dominance Algorithm") on the reversed graph.
///
/// Lanes that leave (ret, exit, trap) never reconverge with others, so paths that only leave must
/// not hide where the others meet: in `if (a) { if (b) return; x(); } y();` the lanes of `a` meet
/// at y(). Hence three graphs, from the narrowest to the widest, and a branch uses the first one
/// that contains it:
/// - paths to the main exit (the last one in the text), without an early `bra` to a lone `ret`,
/// - paths to any exit but a trap,
/// - all paths.
#include "common/simulator/ptx/control_flow.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim::ptx {
namespace {

constexpr uint32_t kUnknown = 0xffffffffu;

class PostDominators {
 public:
  explicit PostDominators(const FlowGraph& graph)
      : graph_(graph),
        exit_(static_cast<uint32_t>(graph.blocks.size())),
        order_number_(graph.blocks.size() + 1, kUnknown),
        immediate_(graph.blocks.size() + 1, kUnknown),
        reaches_exit_artificially_(graph.blocks.size(), 0) {
    number_blocks();
    iterate();
  }

  /// The block's immediate post-dominator; the number of blocks represents the exit.
  [[nodiscard]] uint32_t operator[](uint32_t block) const { return immediate_[block]; }
  [[nodiscard]] uint32_t exit() const noexcept { return exit_; }

 private:
  // Depth-first post-order of the reversed graph, from the exit. Blocks that never reach the exit
  // (endless loops) get an edge to it, from the last block of the list that is still unvisited: the
  // latch of the loop in the order that compilers emit.
  void number_blocks() {
    std::vector<uint8_t> is_visited(exit_, 0);
    for (uint32_t b = exit_; b-- > 0;) {
      if (graph_.blocks[b].leaves_function && is_visited[b] == 0) visit(b, is_visited);
    }
    for (uint32_t b = exit_; b-- > 0;) {
      if (is_visited[b] != 0) continue;
      reaches_exit_artificially_[b] = 1;
      visit(b, is_visited);
    }
    order_number_[exit_] = static_cast<uint32_t>(post_order_.size());
  }

  void visit(uint32_t root, std::vector<uint8_t>& is_visited) {
    std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
    is_visited[root] = 1;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const auto& predecessors = graph_.blocks[block].predecessors;
      if (next == predecessors.size()) {
        order_number_[block] = static_cast<uint32_t>(post_order_.size());
        post_order_.push_back(block);
        stack.pop_back();
        continue;
      }
      const uint32_t predecessor = predecessors[next++];
      if (is_visited[predecessor] != 0) continue;
      is_visited[predecessor] = 1;
      stack.emplace_back(predecessor, 0);
    }
  }

  [[nodiscard]] uint32_t intersect(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (order_number_[a] < order_number_[b]) a = immediate_[a];
      while (order_number_[b] < order_number_[a]) b = immediate_[b];
    }
    return a;
  }

  void iterate() {
    immediate_[exit_] = exit_;
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (size_t i = post_order_.size(); i-- > 0;) {
        const uint32_t block = post_order_[i];
        uint32_t common = kUnknown;
        const auto meet = [&](uint32_t successor) {
          if (immediate_[successor] == kUnknown) return;
          common = common == kUnknown ? successor : intersect(successor, common);
        };
        if (graph_.blocks[block].leaves_function || reaches_exit_artificially_[block] != 0) {
          meet(exit_);
        }
        for (const uint32_t successor : graph_.blocks[block].successors) meet(successor);
        if (common != immediate_[block]) {
          immediate_[block] = common;
          has_changed = true;
        }
      }
    }
  }

  const FlowGraph& graph_;
  uint32_t exit_;
  std::vector<uint32_t> order_number_;
  std::vector<uint32_t> immediate_;
  std::vector<uint8_t> reaches_exit_artificially_;
  std::vector<uint32_t> post_order_;
};

/// A graph that may lack some of its blocks.
struct Tier {
  FlowGraph graph;
  std::vector<uint8_t> has_block;
};

bool is_unguarded_leave(const Instruction& instruction) {
  return leaves(instruction.form().transfer) && !instruction.has_guard;
}

/// In how many ways lanes can leave a block.
size_t count_ways(const BasicBlock& block) {
  return block.successors.size() + (block.leaves_function ? 1 : 0);
}

/// Marks the blocks from which a marked block can be reached.
void mark_ancestors(const FlowGraph& graph, std::vector<uint8_t>& is_marked) {
  std::vector<uint32_t> work;
  for (uint32_t b = 0; b < is_marked.size(); ++b) {
    if (is_marked[b] != 0) work.push_back(b);
  }
  while (!work.empty()) {
    const uint32_t block = work.back();
    work.pop_back();
    for (const uint32_t predecessor : graph.blocks[block].predecessors) {
      if (is_marked[predecessor] != 0) continue;
      is_marked[predecessor] = 1;
      work.push_back(predecessor);
    }
  }
}

void remove_edge(FlowGraph& graph, uint32_t from, uint32_t to) {
  std::erase(graph.blocks[from].successors, to);
  std::erase(graph.blocks[to].predecessors, from);
}

/// Keeps the blocks that reach an exit of `tier.graph`, and those that had no exit in `wider`
/// either (endless loops); false if the entry is not among them.
bool keep_surviving_blocks(Tier& tier, const FlowGraph& wider) {
  const size_t count = tier.graph.blocks.size();
  std::vector<uint8_t> reaches_wider_exit(count, 0);
  for (size_t b = 0; b < count; ++b) reaches_wider_exit[b] = wider.blocks[b].leaves_function;
  mark_ancestors(wider, reaches_wider_exit);

  tier.has_block.assign(count, 0);
  for (size_t b = 0; b < count; ++b) {
    tier.has_block[b] = tier.graph.blocks[b].leaves_function || reaches_wider_exit[b] == 0 ? 1 : 0;
  }
  mark_ancestors(tier.graph, tier.has_block);
  for (uint32_t b = 0; b < count; ++b) {
    if (tier.has_block[b] != 0) continue;
    const std::vector<uint32_t> predecessors = tier.graph.blocks[b].predecessors;
    for (const uint32_t predecessor : predecessors) remove_edge(tier.graph, predecessor, b);
  }
  return tier.has_block[0] != 0;
}

/// Without the paths that can only end in a trap. Guarded ret and exit are not branches: the lanes
/// that take them are gone, the others continue together.
Tier without_traps(const Function& function, const FlowGraph& graph) {
  Tier tier{graph, {}};
  for (BasicBlock& block : tier.graph.blocks) {
    const Instruction& last = function.instructions[block.last - 1];
    if (!leaves(last.form().transfer)) continue;
    const bool falls_past_end = last.has_guard && block.last == function.instructions.size();
    block.leaves_function =
        falls_past_end || (!last.has_guard && last.form().transfer != Transfer::trap);
  }
  return tier;
}

/// Only the paths to the last exit in the text.
Tier to_main_exit(const Function& function, const FlowGraph& graph) {
  Tier tier{graph, {}};
  uint32_t main = 0;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    if (graph.blocks[b].leaves_function) main = b;
    tier.graph.blocks[b].leaves_function = false;
  }
  tier.graph.blocks[main].leaves_function = graph.blocks[main].leaves_function;
  const BasicBlock& exit_block = graph.blocks[main];
  const bool is_lone_exit = exit_block.last - exit_block.first == 1 &&
                            is_unguarded_leave(function.instructions[exit_block.first]);
  if (!is_lone_exit) return tier;
  for (const uint32_t predecessor : exit_block.predecessors) {
    const Instruction& last = function.instructions[graph.blocks[predecessor].last - 1];
    const bool falls_through = graph.blocks[predecessor].last == exit_block.first &&
                               (!ends_block(last.form().transfer) || last.has_guard);
    if (!falls_through) remove_edge(tier.graph, predecessor, main);
  }
  return tier;
}

}  // namespace

std::vector<uint32_t> reconvergence_points(const Function& function) {
  std::vector<uint32_t> points(function.instructions.size(), kNoReconvergence);
  if (points.empty()) return points;
  const FlowGraph graph(function);
  std::vector<Tier> tiers;
  tiers.push_back({graph, std::vector<uint8_t>(graph.blocks.size(), 1)});
  Tier no_traps = without_traps(function, graph);
  if (keep_surviving_blocks(no_traps, graph)) tiers.push_back(std::move(no_traps));
  Tier main_only = to_main_exit(function, tiers.back().graph);
  if (keep_surviving_blocks(main_only, tiers.back().graph)) tiers.push_back(std::move(main_only));
  std::reverse(tiers.begin(), tiers.end());

  std::vector<uint8_t> is_done(graph.blocks.size(), 0);
  for (const Tier& tier : tiers) {
    const PostDominators post_dominators(tier.graph);
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      const uint32_t last = graph.blocks[b].last - 1;
      if (is_done[b] != 0 || tier.has_block[b] == 0) continue;
      is_done[b] = 1;
      if (!branches(function.instructions[last].form().transfer)) continue;
      // If all paths but one leave, the others stay together: no wait is needed.
      if (count_ways(graph.blocks[b]) > 1 && count_ways(tier.graph.blocks[b]) < 2) continue;
      const uint32_t meeting = post_dominators[b];
      if (meeting == post_dominators.exit()) continue;
      const uint32_t first = graph.blocks[meeting].first;
      if (!is_unguarded_leave(function.instructions[first])) points[last] = first;
    }
  }
  return points;
}

}  // namespace bw::sim::ptx
