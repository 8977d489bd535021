#pragma once
/// \file
/// Programmatic dependent launch: what the launches before a dependent one leave to it.
///
/// Grids are executed one after the other, and overlap in simulated time. A dependent grid begins
/// when all CTAs of the one before it have executed griddepcontrol.launch_dependents or ended; all
/// of them have begun by then, so the new grid never takes the room that one of them needs. Each of
/// its CTAs begins when there is room on an SM, and griddepcontrol.wait returns when the one grid
/// before it is complete. Neglected: what CTAs of two grids that run at the same time take from
/// each other on an SM, in the L2 cache and in the memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// What a CTA takes of an SM.
struct CtaResources {
  uint32_t registers = 0;   ///< of all its threads, in the units in which they are given out
  uint32_t threads = 0;     ///< in whole warps
  size_t shared_bytes = 0;  ///< with the reserved ones
};

/// The launches that may still run when a dependent one begins. Times are the device's.
class EarlierGrids {
 public:
  /// A CTA that ends after the dependent launch has begun.
  struct Stay {
    uint32_t sm = 0;         ///< its SM
    Cycle end = 0;           ///< when the next CTA can begin in its room
    CtaResources resources;  ///< that it keeps until then
  };

  /// A dependent launch may begin.
  Cycle triggered = 0;
  /// The last launch is complete, as its dependents' griddepcontrol.wait sees it.
  Cycle complete = 0;
  /// CTAs, of one launch or of several.
  std::vector<Stay> stays;

  /// When the first `count` CTAs of a launch with these resources can begin on an SM, one after the
  /// other: not before `begin`, and in cycles since then.
  [[nodiscard]] std::vector<Cycle> room_on(uint32_t sm, const CtaResources& each, uint32_t count,
                                           Cycle begin) const;
};

}  // namespace bw::sim
