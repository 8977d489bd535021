#pragma once
/// \file
/// Where the lanes of a warp access memory: the host's pointers, resolved for all lanes at once
/// where they are in one CTA's memory or in one allocation.

#include <cstddef>

#include "common/simulator/units/units.hpp"

namespace bw::sim {

/// The operand of a load or store that is its address; the data registers follow it.
inline constexpr int kAddressOperand = 0;

/// Host memory of the active lanes: with all lanes active mostly one after the other or at one
/// place, else each lane's own.
struct LanePointers {
  std::byte* base = nullptr;   ///< of lane 0; null where each lane has its own
  size_t stride_bytes = 0;     ///< from lane to lane: an access's size, or 0
  std::byte* own[kWarpLanes];  ///< of the active lanes, without a base
  LaneMask unwritten = 0;      ///< of a load: lanes that read bytes which nothing has written
  const Cta* cta = nullptr;    ///< whose shared memory, where some lane does

  /// Where this lane accesses memory.
  [[nodiscard]] std::byte* at(int lane) const {
    return base != nullptr ? base + static_cast<size_t>(lane) * stride_bytes : own[lane];
  }
};

/// Resolves the addresses of a load or store of `bytes` a lane in state space `written`. One bounds
/// check for the whole warp where all lanes fall into one CTA's memory or one allocation; otherwise
/// lane by lane, and a bad address is a fault of its lane. Tells the contents of shared memory, the
/// tensor maps and the observers of the access. Returns the space of the addresses, generic if they
/// have several.
AddressSpace resolve_lanes(Strand& strand, const Instruction& instruction, LaneMask active,
                           AddressSpace written, size_t bytes, Access access, LanePointers& out);

/// From the first to the last byte that the lanes access, all of which are in one CTA's memory or
/// one allocation.
struct Span {
  const std::byte* first = nullptr;
  size_t bytes = 0;
};

/// Tells the contents of shared memory of a write, or asks them what a load reads of what nothing
/// has written: `out` then holds those lanes, and the CTA. A span outside shared memory whose
/// contents are tracked is left alone.
void check_contents(Strand& strand, const Instruction& instruction, LaneMask active, size_t bytes,
                    Access access, const Span& span, LanePointers& out);

}  // namespace bw::sim
