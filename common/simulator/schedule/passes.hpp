#pragma once
/// \file
/// The passes of the static schedule, which follow ptxas from PTX to the order and the places of
/// the machine code. static_schedule.cpp and issue_nodes.cpp call them.

#include <cstdint>
#include <vector>

#include "common/simulator/isa/cost.hpp"
#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/schedule/issue_nodes.hpp"
#include "common/simulator/schedule/register_pressure.hpp"
#include "common/simulator/schedule/static_schedule.hpp"

namespace bw::sim {

/// Removes from `costs` (one for each instruction) what ptxas merges into the instruction that uses
/// the result: shifts and products into additions, additions and logic of two operands into those
/// of three, predicates into comparisons.
void fold_costs(const ptx::Function& function, std::vector<Cost>& costs);

/// Of an instruction. ptxas merges loads from shared memory of neighbours, where it sees that the
/// first one's address is a multiple of their total size.
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

/// By block: 1 if every path from the function's entry takes a branch that only an elected lane
/// takes.
[[nodiscard]] std::vector<uint8_t> elected_blocks(const ptx::Function& function,
                                                  const ptx::FlowGraph& graph);

/// By block: 1 where ptxas keeps invariants inside the innermost loop around it: that loop contains
/// a loop, or some iterations skip the block. A block that waits by branching back to itself is not
/// a loop.
[[nodiscard]] std::vector<uint8_t> blocks_that_keep_constants(const ptx::Function& function,
                                                              const ptx::FlowGraph& graph);

/// The order in which ptxas would issue them: the old index of each position. Within stretches that
/// code may not leave, a list scheduler: longest path first, in-order issue, loads as early as
/// registers allow.
[[nodiscard]] std::vector<uint32_t> issue_order(const IssueNodes& in,
                                                const RegisterPressure& pressure);

/// When each instruction issues, in issue order: distances, pipes, branches, and the scoreboards
/// that count loads. One for each node; `pressure` was computed in text order, which blocks keep.
[[nodiscard]] std::vector<IssueTimes> issue_times(const IssueNodes& in,
                                                  const RegisterPressure& pressure);

/// Of a machine instruction.
inline constexpr uint64_t kInstructionBytes = 16;

/// Sets IssueTimes::code_begin. PTX may put the body of an `if` after all other code and let it
/// branch back; ptxas places it where control comes from. So each block comes after its
/// predecessors, loops apart, and a fall-through successor comes next.
void place_code(const ptx::FlowGraph& graph, std::vector<IssueTimes>& times);

/// The machine code's size.
[[nodiscard]] uint64_t code_bytes(const std::vector<IssueTimes>& times);

}  // namespace bw::sim
