#pragma once
/// \file
/// What is known of the agents of other clusters.
///
/// After a barrier of the whole grid, every thread knows the same of some thousand agents. So what
/// is known is a tree that never changes: pages of clusters, and for each cluster its clocks. Who
/// learns more gets another tree, which shares all else with the one before, and a join looks only
/// at what the two trees do not share. The latest pages and joins are kept, so that threads that
/// learn the same share it, however they learned it.

#include <cstdint>

#include "common/simulator/diagnosis/races/agent_clocks.hpp"

namespace bw::sim::races {

/// The clocks of clusters, by their index in the grid. Copies share them.
class ForeignClocks {
 public:
  struct Tree;  ///< what is known, which never changes

  /// What is known of a cluster's agents; null where that is nothing.
  [[nodiscard]] const SharedClocks& of(uint64_t cluster) const;
  /// These clocks of a cluster become known.
  void learn(uint64_t cluster, const SharedClocks& clocks);
  /// The same of clocks that hold what is known of the cluster.
  void replace(uint64_t cluster, const SharedClocks& clocks);
  /// Everything that `other` knows becomes known.
  void join(const ForeignClocks& other);
  /// Whether nothing is known.
  [[nodiscard]] bool empty() const { return tree_ == nullptr; }
  /// Forgets everything.
  void clear() { tree_ = nullptr; }
  /// Whether both share one tree; otherwise they may know the same all the same.
  friend bool operator==(const ForeignClocks&, const ForeignClocks&) = default;

 private:
  SharedValue<Tree> tree_;  ///< null where nothing is known
};

}  // namespace bw::sim::races
