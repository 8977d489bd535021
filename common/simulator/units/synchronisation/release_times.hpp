#pragma once
/// \file
/// What a release waits for by the timing model: until everybody in its scope can see what its
/// thread has written.

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Of a fence or release at that scope; only with a timing model. An SM has one first-level cache,
/// so that all wider scopes meet in the L2 cache.
[[nodiscard]] inline Cycle membar_cycles(const TimingTable& times, MemoryScope scope) {
  return scope == MemoryScope::cta || scope == MemoryScope::unspecified ? times.membar_cta_cycles
                                                                        : times.membar_gpu_cycles;
}

/// Of what an instruction's modifiers say: 0 where they say no release (or there is no model).
[[nodiscard]] inline Cycle release_cycles(const Strand& strand, const Instruction& instruction) {
  const TimingTable* const times = strand.cluster->times();
  if (times == nullptr) return 0;
  const MemoryOrder order = instruction.order;
  const bool releases =
      order == MemoryOrder::release || order == MemoryOrder::acq_rel || order == MemoryOrder::sc;
  return releases ? membar_cycles(*times, instruction.scope) : 0;
}

}  // namespace bw::sim
