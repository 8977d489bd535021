#pragma once
/// \file
/// Where the machine code of a function's blocks lies.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/schedule/static_schedule.hpp"

namespace bw::sim {

/// Sets IssueTimes::code_begin. PTX may put the body of an `if` behind everything else and let it
/// branch back; ptxas puts it where control comes from. So blocks lie in an order in which each
/// comes behind those that lead to it, loops apart, and what control falls into lies next.
void place_code(const ptx::FlowGraph& graph, std::vector<IssueTimes>& times);

/// The machine code's size.
[[nodiscard]] uint64_t code_bytes(const std::vector<IssueTimes>& times);

}  // namespace bw::sim
