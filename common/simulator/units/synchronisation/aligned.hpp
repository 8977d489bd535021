#pragma once
/// \file
/// The rule of the .aligned forms: all threads of the warp execute the instruction together.

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// The lanes of the warp that have not exited are not `active`: throws SimulationError{contract},
/// or DivergedLanes where the others may come. At the level `hardware` it returns if they don't.
void require_other_lanes(const Strand& strand, const Instruction& instruction, LaneMask active);

/// Tells observers that the warp's live lanes are together.
void notify_converged(const Strand& strand, const Instruction& instruction);

/// Throws SimulationError{contract} unless all lanes of the warp that have not exited execute
/// `instruction`. At the level `hardware` divergence is accepted: lanes that don't come without
/// waiting for anything in between count as they come.
inline void require_converged(const Strand& strand, const Instruction& instruction,
                              LaneMask active) {
  if (active == strand.warp->live) {
    if (strand.cluster->observed(EventKind::order)) notify_converged(strand, instruction);
    return;
  }
  require_other_lanes(strand, instruction, active);
}

}  // namespace bw::sim
