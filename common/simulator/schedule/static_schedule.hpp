#pragma once
/// \file
/// The order and the distances in which ptxas would have a warp issue a function's instructions.
///
/// PTX says what is computed; ptxas decides the issue order, and simulated time depends on it:
/// sixteen loads ahead of their uses cost the latency of one. Within stretches that code may not
/// leave, instructions are put in the order of a list scheduler (longest path first, in-order
/// issue), keeping every dependence through registers and memory. A distance holds what the
/// compiler knows: latencies of arithmetic, pipes, branches. The arrival of a loaded value is found
/// at run time, at the first instruction that needs it.

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
  uint8_t awaits = 0;       ///< scoreboards (bits) whose loads must have arrived
  uint8_t scoreboard = 0;   ///< of a load: what counts it
  uint8_t merged = 1;       ///< of merged loads: their number, 0 of the later ones
  uint32_t code_begin = 0;  ///< of the stretch that ends here: its first machine instruction
};

/// Moves the function's instructions into issue order and returns their times, one for each in the
/// new order. Blocks, and with them branch targets, do not move. Instructions that match no form
/// keep their position.
[[nodiscard]] std::vector<IssueTimes> schedule(ptx::Function& function,
                                               const IssueLatencies& latencies);

}  // namespace bw::sim
