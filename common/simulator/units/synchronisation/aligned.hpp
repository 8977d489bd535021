#pragma once
/// \file
/// The rule of the .aligned forms: all threads of the warp execute the instruction together.

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Throws SimulationError{contract}: the lanes of the warp that have not exited are not `active`.
[[noreturn]] void fault_diverged(const Strand& strand, const Instruction& instruction,
                                 LaneMask active);

/// Tells observers that the warp's live lanes are together.
void notify_converged(const Strand& strand, const Instruction& instruction);

/// Throws SimulationError{contract} unless all lanes of the warp that have not exited execute
/// `instruction`. At the level `hardware` divergence is accepted, the lanes then count as they
/// come.
inline void require_converged(const Strand& strand, const Instruction& instruction,
                              LaneMask active) {
  if (active == strand.warp->live) {
    if (strand.cluster->observed(EventKind::order)) notify_converged(strand, instruction);
    return;
  }
  if (!strand.cluster->at_isa_level()) return;
  fault_diverged(strand, instruction, active);
}

}  // namespace bw::sim
