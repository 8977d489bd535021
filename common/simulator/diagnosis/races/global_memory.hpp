#pragma once
/// \file
/// Races in global memory inside of a cluster, or of clusters that are linked: what threads and
/// copies do there, and what strong accesses order. What clusters and operations do to each other:
/// launch_races.hpp.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/simulator/diagnosis/races/detector.hpp"
#include "common/simulator/diagnosis/races/launch_races.hpp"
#include "common/simulator/diagnosis/races/location_order.hpp"
#include "common/simulator/diagnosis/races/polls.hpp"

namespace bw::sim::races {

/// Follows what one cluster does in global memory; a part of its detector.
class GlobalRaces final : public Observer {
 public:
  /// Of the detector's cluster.
  GlobalRaces(Detector& detector, std::shared_ptr<LaunchRaces> launch);

  [[nodiscard]] EventKinds wants() const override;
  void on_access(const AccessEvent& event) override;
  void on_fence(const FenceEvent& event) override;
  void on_copy(const CopyEvent& event) override;
  void on_order(const OrderEvent& event) override;
  void on_end(RunStatus status) override;

 private:
  /// Lanes of an instruction that touch memory in one piece.
  struct Run {
    uint64_t address = 0;
    int first_lane = 0, count = 0;
    LaneMask lanes = 0;  ///< where all touch the same bytes; else 0
  };
  /// The order and scope of a strong access.
  struct Strength {
    bool is_strong = false, acquires = false, releases = false, is_volatile = false;
    MemoryScope scope = MemoryScope::unspecified;
  };
  [[nodiscard]] Strength strength_of(const AccessEvent& event) const;
  void check(const AccessEvent& event, LaneMask lanes, const Strength& strength);
  /// Checks, remembers or both what these lanes do in runs_.
  template <bool checks, bool adds, class Found>
  void visit(LaneMask lanes, Touch& touch, uint32_t bytes, Found&& found);
  void order(const AccessEvent& event, LaneMask lanes, const Strength& strength);
  /// All fence.sc follow each other in one order, and each synchronises with the later ones (PTX
  /// ISA, "Fence-SC"), as atomics on one location would. Returns what the lanes have handed on.
  SharedView synchronise_fence_sc(const Origin& origin, const ThreadPosition& self,
                                  MemoryScope scope);
  /// cp.async reads through its threads.
  void read_by_threads(const CopyEvent& event);
  void check_map(const CopyEvent& event, const Agent& agent);
  void found(const Conflict& conflict, const Touch& touch, const LaneGroup* group);
  [[nodiscard]] ThreadPosition party(const Origin& origin) const {
    return {cluster_index_, origin.cta_rank};
  }
  [[nodiscard]] ThreadOrder& thread(const Origin& origin, int lane);
  /// The lanes learn what was handed on.
  void acquire(const Origin& origin, const Released& one);
  /// They see it without an order.
  void see(const Origin& origin, const Released& one, View Unordered::*as);
  /// The lanes that touch bytes (a mask) of a block.
  [[nodiscard]] static LaneMask lanes_at(const ShadowEntry& entry, uint32_t bytes);
  [[nodiscard]] Accessor accessor_of(const Origin& origin) const;
  /// Whether a thread with this view may run at the same time as the previous grid.
  [[nodiscard]] bool is_early(const View& view) const {
    return launch_->operation().is_programmatic && !view.generic.is_past_grid_wait();
  }
  /// The number of an accessor of check().
  [[nodiscard]] uint32_t number_of(Accessor& accessor, bool is_early);

  Detector& detector_;
  std::shared_ptr<LaunchRaces> launch_;
  std::shared_ptr<GlobalShadow> shadow_;
  uint64_t cluster_index_ = 0;
  std::unordered_map<uint32_t, ThreadOrder> threads_;  ///< by warp and lane
  uint32_t has_waited_ = 0;  ///< CTAs of which a thread has waited for the grid before, a bit each
  uint32_t triggers_early_ = 0;  ///< CTAs that let dependents begin without having waited
  /// The locations of a thread's latest atomics whose results it has got: what they found comes
  /// before whatever the thread does there.
  struct OwnAtomics {
    std::array<uint64_t, 4> addresses{};
    size_t next = 0;
    void add(uint64_t address) {
      if (!contains(address)) addresses[next++ % addresses.size()] = address;
    }
    [[nodiscard]] bool contains(uint64_t address) const {
      return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    }
  };
  std::unordered_map<uint32_t, OwnAtomics> own_atomics_;  ///< by warp and lane
  Polls polls_;
  StoredValues stored_values_;
  struct Numbered {
    const Instruction* instruction = nullptr;
    uint32_t agent = 0;
    bool is_early = false;
    uint8_t value_bytes = 0;
    uint32_t number = 0;
  };
  std::array<Numbered, 64> numbered_{};  ///< the latest accessors
  std::vector<Run> runs_;                ///< of the access that is checked
};

}  // namespace bw::sim::races
