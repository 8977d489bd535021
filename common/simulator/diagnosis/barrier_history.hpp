#pragma once
/// \file
/// The operations on each mbarrier and the threads that executed them: the part of a report that
/// the machine itself does not need.

#include <cstdint>
#include <memory>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim {

/// The thread that executed an operation.
struct Actor {
  const Instruction* instruction = nullptr;  ///< what was executed
  uint16_t cta_rank = 0;                     ///< rank of the CTA in its cluster
  uint16_t warp = 0;                         ///< number of the warp in its CTA
  Cycle time = 0;                            ///< when it was done
};

/// The share of a warp's instruction in the phases of a barrier.
struct Contribution {
  MbarrierEvent::Operation operation = MbarrierEvent::Operation::arrive;  ///< what was done
  Actor actor;                                                            ///< the latest time
  uint64_t phase = 0;   ///< the latest phase it contributed to
  uint64_t amount = 0;  ///< arrivals or bytes in that phase
};

/// What is remembered of one mbarrier.
struct BarrierRecord {
  std::vector<Contribution> contributions;  ///< to this and earlier phases, bounded
  Actor last_waiter;                        ///< who waited last
  Actor initialiser;                        ///< who initialised it
};

/// Remembers the barriers of one cluster.
class BarrierHistory final : public Observer {
 public:
  [[nodiscard]] EventKinds wants() const override { return event_kinds(EventKind::mbarrier); }
  /// An mbarrier was operated on.
  void on_mbarrier(const MbarrierEvent& event) override;

  /// The record of a live barrier: the rank of its CTA and its slot there.
  /// An empty one where nothing was remembered (Checks::off).
  [[nodiscard]] const BarrierRecord& of(uint32_t cta_rank, uint32_t slot) const {
    static const BarrierRecord kUnknown;
    const bool known = cta_rank < records_.size() && slot < records_[cta_rank].size();
    return known ? records_[cta_rank][slot] : kUnknown;
  }

 private:
  std::vector<std::vector<BarrierRecord>> records_;  ///< by rank, then slot
};

/// The history of a cluster of a device that is watched (diagnosis/explain.hpp); an empty one at
/// Checks::off. Throws std::logic_error for a device that is not watched.
[[nodiscard]] const BarrierHistory& history_of(const Cluster& cluster);

}  // namespace bw::sim
