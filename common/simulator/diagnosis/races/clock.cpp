#include "common/simulator/diagnosis/races/clock.hpp"

namespace bw::sim::races {

void VectorClock::learn_foreign_lanes(uint64_t cluster, uint32_t warp, LaneMask lanes,
                                      Clock clock) {
  if ((lanes & ~foreign_lanes_known(cluster, warp, clock)) == 0) return;
  SharedClocks clocks = foreign_.of(cluster);
  clocks.own().learn_lanes(warp, lanes, clock);
  foreign_.replace(cluster, clocks);
}

void VectorClock::join_own(const SharedClocks& other) {
  if (other == nullptr || other == own_) return;
  if (own_ == nullptr || other->holds(*own_))
    own_ = other;
  else if (!own_->holds(*other))
    own_.own().join(*other);
}

void VectorClock::join_chains(const VectorClock& other) {
  if (other.own_ == nullptr || other.own_ == own_) return;
  if (own_ == nullptr || !own_->holds_chains(*other.own_)) own_.own().join_chains(*other.own_);
}

void VectorClock::join_foreign(const VectorClock& other, uint64_t cluster) {
  join_foreign(other);
  foreign_.learn(cluster, other.own_);
}

}  // namespace bw::sim::races
