#pragma once
/// \file
/// What the files of the tcgen05 family share: reading the modifiers that they have in common, and
/// the registers of loads under way.

#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"

namespace bw::sim::tcgen05 {

/// 1 or 2 from the modifier `group` of the form.
[[nodiscard]] inline int cta_group_of(const Binder& binder) {
  return binder.modifiers.get("group") == "cta_group::2" ? 2 : 1;
}

/// What the warp's loads bring is there.
void deliver_loads(Strand& strand, TensorMemory::WarpState& state);
/// An instruction that may read a register of a load under way (LateRead): on hardware it waits for
/// the value.
Flow execute_late_read(Strand& strand, const Instruction& i, LaneMask active);

}  // namespace bw::sim::tcgen05
