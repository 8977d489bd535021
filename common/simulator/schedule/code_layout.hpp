#pragma once
/// \file
/// Layout of the machine code of a function's blocks.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/schedule/static_schedule.hpp"

namespace bw::sim {

/// Of a machine instruction.
inline constexpr uint64_t kInstructionBytes = 16;

/// Sets IssueTimes::code_begin. PTX may put the body of an `if` after all other code and let it
/// branch back; ptxas places it where control comes from. So each block comes after its
/// predecessors, loops apart, and a fall-through successor comes next.
void place_code(const ptx::FlowGraph& graph, std::vector<IssueTimes>& times);

/// The machine code's size.
[[nodiscard]] uint64_t code_bytes(const std::vector<IssueTimes>& times);

}  // namespace bw::sim
