#pragma once
/// \file
/// The loops of a function, as far as the static schedule asks for them.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim {

/// By block: 1 where ptxas leaves what does not change inside the innermost loop around it: that
/// loop has a loop inside, or not every round comes to the block. A block that waits by going back
/// to itself is no loop.
[[nodiscard]] std::vector<uint8_t> blocks_that_keep_constants(const ptx::Function& function,
                                                              const ptx::FlowGraph& graph);

}  // namespace bw::sim
