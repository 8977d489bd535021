#pragma once
/// \file
/// The slots on SMs that CTAs of a launch leave free for those of the next clusters.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace bw::sim {

/// Free slots of CTAs. The CTAs of a cluster take slots of one GPC, those that have been free for
/// the longest time, even if CTAs of different clusters used them before.
class FreeSlots {
 public:
  /// A place that a CTA has left.
  struct FreeSlot {
    double at = 0;       ///< when
    uint32_t place = 0;  ///< its number: CTA r of the cluster in place p begins in p * CTAs + r
    double speed = 1;    ///< how fast its cluster was at last
    /// The order in which they are taken.
    bool operator<(const FreeSlot& other) const {
      return at != other.at ? at < other.at : place < other.place;
    }
  };

  /// For clusters of that many CTAs. `gpcs`: by the place of a cluster; empty: it takes what one
  /// cluster has left.
  FreeSlots(uint32_t cluster_ctas, std::span<const uint32_t> gpcs)
      : ctas_(cluster_ctas), gpcs_(gpcs) {}

  /// A CTA has left its place.
  void add(const FreeSlot& left) { groups_[group_of(left.place)].insert(left); }

  /// The places of the next cluster, in the order in which they were left; none if no GPC has
  /// enough.
  std::optional<std::vector<FreeSlot>> take() {
    Group* best = nullptr;
    FreeSlot best_last;
    for (auto& [number, group] : groups_) {
      if (group.size() < ctas_) continue;
      const FreeSlot& last = *std::next(group.begin(), ctas_ - 1);
      if (best != nullptr && !(last < best_last)) continue;
      best = &group;
      best_last = last;
    }
    if (best == nullptr) return std::nullopt;
    const auto end = std::next(best->begin(), ctas_);
    std::vector<FreeSlot> taken(best->begin(), end);
    best->erase(best->begin(), end);
    return taken;
  }

 private:
  using Group = std::set<FreeSlot>;

  [[nodiscard]] uint32_t group_of(uint32_t place) const {
    if (ctas_ == 1) return 0;
    const uint32_t cluster = place / ctas_;
    return cluster < gpcs_.size() ? gpcs_[cluster] : cluster;
  }

  uint32_t ctas_;
  std::span<const uint32_t> gpcs_;
  std::map<uint32_t, Group> groups_;
};

}  // namespace bw::sim
