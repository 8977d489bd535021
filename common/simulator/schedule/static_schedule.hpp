#pragma once
/// \file
/// The order and the distances in which ptxas would have a warp issue a function's instructions.
///
/// PTX says what is computed; in which order the machine issues it is the work of ptxas, and
/// simulated time depends on it: sixteen loads that stand in front of what uses them cost the
/// latency of one. Within stretches that nothing may be moved out of, instructions are put in the
/// order of a list scheduler (longest path first, in-order issue), keeping every dependence through
/// registers and memory. A distance holds what the compiler knows: latencies of arithmetic, pipes,
/// branches. When a loaded value arrives is found at run time, at the instruction that needs it
/// first.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

struct IssueLatencies;

/// The times of one instruction; see the members of Instruction of the same names.
struct IssueTimes {
  uint16_t cycles = 0;       ///< until the next instruction
  uint16_t issue_slots = 0;  ///< of the stretch that ends here
  uint16_t issued = 0;  ///< machine instructions of that stretch; its slots: pipes are busy longer
  uint8_t skip_cycles = 0;  ///< when its guard is false, or its branch not taken
  uint8_t awaits = 0;       ///< scoreboards (bits) whose loads have to be there
  uint8_t scoreboard = 0;   ///< of a load: what counts it
  uint8_t merged = 1;       ///< of loads that are made one: how many they are, 0 of the later ones
  uint32_t code_begin = 0;  ///< of the stretch that ends here: its first machine instruction
};

/// Moves the function's instructions into the order of issue and gives their times, one for each in
/// the new order. Blocks, and with them branch targets, stay where they are. Instructions that no
/// form fits keep their place.
[[nodiscard]] std::vector<IssueTimes> schedule(ptx::Function& function,
                                               const IssueLatencies& latencies);

}  // namespace bw::sim
