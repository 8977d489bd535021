#pragma once
/// \file
/// The rule of the .aligned forms: all threads of the warp execute the instruction together.

#include <string>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Throws SimulationError{contract} unless all lanes of the warp that have not exited execute
/// `instruction`. `section` is the instruction's name in the PTX ISA. At the lenient level
/// divergence is accepted, the lanes then count as they come.
inline void require_converged(const Strand& strand, const Instruction& instruction, LaneMask active,
                              const char* section) {
  if (active == strand.warp->live) return;
  if (strand.cluster->settings().strictness == Strictness::lenient) return;
  constexpr int kHexDigits = 8;
  constexpr char kHex[] = "0123456789abcdef";
  std::string mask = "0x";
  for (int digit = kHexDigits - 1; digit >= 0; --digit)
    mask += kHex[strand.warp->live >> (4 * digit) & 15u];
  strand.fault(
      instruction, FaultKind::contract, active,
      "an .aligned instruction executed under divergence: the warp's live lanes are " + mask,
      std::string("all threads of a warp execute an .aligned instruction together (PTX ISA, "
                  "\"") +
          section + "\")",
      "move it out of the divergent branch, reconverge with bar.warp.sync first, or use "
      "the form without .aligned where there is one");
}

}  // namespace bw::sim
