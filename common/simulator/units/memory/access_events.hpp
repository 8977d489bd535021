#pragma once
/// \file
/// Tells observers of accesses through the generic proxy.

#include <array>
#include <cstdint>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// The addresses of a warp's lanes; those of inactive lanes mean nothing.
using LaneAddresses = std::array<uint64_t, kWarpLanes>;

/// `lanes` access `bytes` bytes each at their addresses, which `space` interprets.
inline void notify_access(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                          AddressSpace space, Access access, bool atomic, size_t bytes,
                          const LaneAddresses& addresses) {
  if (!strand.cluster->observed(EventKind::access)) return;
  strand.cluster->notify(&Observer::on_access,
                         AccessEvent{strand.origin(instruction, lanes), strand.time, space, access,
                                     atomic, static_cast<uint32_t>(bytes), addresses});
}

}  // namespace bw::sim
