#pragma once
/// \file
/// What the files of the tcgen05 family share: bind functions of the opcode table.

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::tcgen05 {

void bind_alloc(Binder& binder);
void bind_dealloc(Binder& binder);
void bind_relinquish(Binder& binder);
void bind_load(Binder& binder);
void bind_store(Binder& binder);
void bind_wait_load(Binder& binder);
void bind_wait_store(Binder& binder);
void bind_copy(Binder& binder);
void bind_shift(Binder& binder);
void bind_mma(Binder& binder);
void bind_commit(Binder& binder);
void bind_fence(Binder& binder);

/// 1 or 2 from the modifier `group` of the form.
[[nodiscard]] inline int cta_group_of(const Binder& binder) {
  return binder.modifiers.get("group") == "cta_group::2" ? 2 : 1;
}

}  // namespace bw::sim::tcgen05
