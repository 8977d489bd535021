#pragma once
/// \file
/// Named barriers that two groups of warps use at once (PTX ISA, "bar, barrier"): an arrival of
/// threads that cannot know the phase before to be complete could as well fall into that phase.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/simulator/diagnosis/races/detector.hpp"
#include "common/simulator/diagnosis/races/threads.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// Follows the named barriers of one cluster; a part of the detector. Whoever waits at a barrier
/// learns that its phase is complete, and hands that on with everything else that it knows.
class NamedBarrierRaces final : public Observer {
 public:
  /// `detector` outlives it.
  explicit NamedBarrierRaces(Detector& detector) : detector_(detector) {}

  [[nodiscard]] EventKinds wants() const override { return event_kinds(EventKind::barrier); }
  void on_barrier(const BarrierEvent& event) override;

 private:
  struct Barrier {
    Threads::Ticket complete;      ///< the last complete phase; clock 0: none
    std::vector<Origin> arrivals;  ///< in the present phase
    std::vector<Origin> previous;  ///< in the one before
    std::vector<Origin> waiters;   ///< in the present phase
  };
  void arrive(Barrier& barrier, const BarrierEvent& event);
  void complete(Barrier& barrier, const BarrierEvent& event, uint16_t cta_rank);

  Detector& detector_;
  std::unordered_map<uint32_t, Barrier> barriers_;  ///< by CTA rank and number
};

}  // namespace bw::sim::races
