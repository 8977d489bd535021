// The call instruction: what remains of it after inlining are calls of external functions.
#pragma once

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim {

/// Binds `call` of vprintf and __assertfail; refuses every other external function by name.
void bind_external_call(Binder& binder);

}  // namespace bw::sim
