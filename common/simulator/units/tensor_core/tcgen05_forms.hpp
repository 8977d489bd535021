#pragma once
/// \file
/// What the files of the tcgen05 family share: reading the modifiers that they have in common.

#include "common/simulator/machine/binder.hpp"

namespace bw::sim::tcgen05 {

/// 1 or 2 from the modifier `group` of the form.
[[nodiscard]] inline int cta_group_of(const Binder& binder) {
  return binder.modifiers.get("group") == "cta_group::2" ? 2 : 1;
}

}  // namespace bw::sim::tcgen05
