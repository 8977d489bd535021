#pragma once
/// \file
/// How far the agents of one cluster are known: its warps, lane by lane, and its chains of
/// asynchronous operations.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/diagnosis/races/shared_value.hpp"

namespace bw::sim::races {

/// A value of an agent's counter; 0 is before everything.
using Clock = uint32_t;

/// What is known of the lanes of one warp beyond its other lanes.
struct LaneClock {
  uint16_t warp = 0;   ///< number of the warp in its cluster
  LaneMask lanes = 0;  ///< disjoint from the other entries of the warp
  Clock clock = 0;     ///< more than the warp's common clock
};

/// Agents that are not mentioned are known up to 0.
class AgentClocks {
 public:
  /// The lanes of a warp that are known up to `clock` at least.
  [[nodiscard]] LaneMask lanes_known(uint32_t warp, Clock clock) const {
    if (warp < warps_.size() && warps_[warp] >= clock) return kAllLanes;
    LaneMask known = 0;
    for (const LaneClock& entry : lanes_)
      if (entry.warp == warp && entry.clock >= clock) known |= entry.lanes;
    return known;
  }
  /// Whether these lanes of a warp are known up to `clock`.
  [[nodiscard]] bool knows_lanes(uint32_t warp, LaneMask lanes, Clock clock) const {
    if (warp < warps_.size() && warps_[warp] >= clock) return true;
    return (lanes & ~lanes_known(warp, clock)) == 0;
  }
  /// Whether a chain is known up to `clock`.
  [[nodiscard]] bool knows_chain(uint32_t chain, Clock clock) const {
    return chain < chains_.size() && chains_[chain] >= clock;
  }
  /// Whether everything that `other` knows is known.
  [[nodiscard]] bool holds(const AgentClocks& other) const;
  /// The same of chains alone.
  [[nodiscard]] bool holds_chains(const AgentClocks& other) const;

  /// Lanes become known up to `clock`.
  void learn_lanes(uint32_t warp, LaneMask lanes, Clock clock);
  /// A chain becomes known up to `clock`.
  void learn_chain(uint32_t chain, Clock clock);
  /// Everything that `other` knows becomes known.
  void join(const AgentClocks& other);
  /// What `other` knows of chains becomes known.
  void join_chains(const AgentClocks& other);

 private:
  /// Lanes above the common clock; `lanes_` keeps its entries of a warp disjoint.
  void raise(uint32_t warp, LaneMask lanes, Clock clock);
  /// If all lanes of the warp are above its common clock, that rises to the least of them.
  void settle(uint32_t warp);

  std::vector<Clock> warps_;      ///< known of all lanes of each warp
  std::vector<LaneClock> lanes_;  ///< beyond that; few
  std::vector<Clock> chains_;     ///< of asynchronous operations
};

/// Clocks that copies share until one of them learns more; null where nothing is known.
using SharedClocks = SharedValue<AgentClocks>;

/// What both know; one of the two where that knows all.
[[nodiscard]] SharedClocks joined(const SharedClocks& a, const SharedClocks& b);

}  // namespace bw::sim::races
