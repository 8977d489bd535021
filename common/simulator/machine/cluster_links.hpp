#pragma once
/// \file
/// Whether clusters of a launch can synchronise with each other through global memory.

#include <algorithm>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {

/// Whether they can. Writes and requests of launch control do not inform another cluster: that
/// takes a read, by an atomic or a strong load.
[[nodiscard]] inline bool are_clusters_linked(const Grid& grid) {
  if (!grid.lockstep()) return false;
  const Kernel& kernel = grid.kernel();
  return std::any_of(kernel.code().begin(), kernel.code().end(), [&](const Instruction& one) {
    if (one.effect != Effect::grid) return false;
    const InstructionForm& form = kernel.form(one);
    return is_load(form.memory) || (form.memory == Memory::update && form.destinations != 0);
  });
}

}  // namespace bw::sim
