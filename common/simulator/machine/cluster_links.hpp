#pragma once
/// \file
/// Whether clusters of a launch can synchronise with each other through global memory.

#include <algorithm>
#include <string_view>

#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim {

/// Whether they can. What only writes, or asks launch control, tells no cluster of another one:
/// reading is what it takes, by an atomic or a strong load.
[[nodiscard]] inline bool are_clusters_linked(const Grid& grid) {
  if (!grid.lockstep()) return false;
  const Kernel& kernel = grid.kernel();
  return std::any_of(kernel.code().begin(), kernel.code().end(), [&](const Instruction& one) {
    if (one.effect != Effect::grid) return false;
    const std::string_view base = kernel.row(one).base;
    return base.starts_with("atom") || base.starts_with("ld");
  });
}

}  // namespace bw::sim
