#pragma once
/// \file
/// The loops of a function, as the static schedule needs them.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim {

/// By block: 1 where ptxas keeps invariants inside the innermost loop around it: that loop contains
/// a loop, or some iterations skip the block. A block that waits by branching back to itself is not
/// a loop.
[[nodiscard]] std::vector<uint8_t> blocks_that_keep_constants(const ptx::Function& function,
                                                              const ptx::FlowGraph& graph);

}  // namespace bw::sim
