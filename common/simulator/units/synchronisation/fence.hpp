#pragma once
/// \file
/// What a fence.proxy.async::generic is restricted to.

#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

/// Whether a fence.proxy.async::generic is for reads of shared memory alone
/// (.sync_restrict::shared::cluster::read): for those of its own thread, since it is not cumulative
/// (PTX ISA, "membar, fence").
[[nodiscard]] inline bool fences_reads_alone(const Instruction& fence) {
  return fence.immediate != 0;
}

}  // namespace bw::sim
