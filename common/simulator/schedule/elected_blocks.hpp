#pragma once
/// \file
/// Blocks that ptxas knows to be executed by one lane of a warp, chosen by elect.sync.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim {

/// By block: 1 if every path from the function's entry takes a branch that only an elected lane
/// takes.
[[nodiscard]] std::vector<uint8_t> elected_blocks(const ptx::Function& function,
                                                  const ptx::FlowGraph& graph);

}  // namespace bw::sim
