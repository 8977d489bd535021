#pragma once
/// \file
/// Blocks that one lane of a warp executes, chosen by elect.sync: of these ptxas knows it.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim {

/// By block: 1 where every way from the function's entry leads over a branch that only an elected
/// lane takes.
[[nodiscard]] std::vector<uint8_t> elected_blocks(const ptx::Function& function,
                                                  const ptx::FlowGraph& graph);

}  // namespace bw::sim
