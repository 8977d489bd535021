#pragma once
/// \file
/// Loads from shared memory that ptxas merges: neighbours, where it sees that the first one's
/// address is a multiple of their total size.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim {

/// Of an instruction.
struct MergedLoad {
  uint32_t first = 0;  ///< the instruction that loads for all of them if `count` is not 1
  uint8_t count = 1;   ///< of the first one: how many; 0 of the others
};

/// By instruction. `ends_stretch`: by instruction, whether code may not move across it; `writes`:
/// whether it may write shared memory.
[[nodiscard]] std::vector<MergedLoad> merged_loads(const ptx::Function& function,
                                                   const ptx::FlowGraph& graph,
                                                   const std::vector<uint8_t>& ends_stretch,
                                                   const std::vector<uint8_t>& writes);

}  // namespace bw::sim
