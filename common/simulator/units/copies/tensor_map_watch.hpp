#pragma once
/// \file
/// Tensor maps in memory that a kernel can write: which copies read them, and who has changed them.
///
/// A copy reads its map at some time between its issue and its completion, by a proxy of its own.
/// Accesses of the threads and copies of one cluster to a map are certain: a write while a copy
/// reads the map, and a copy after a change that no fence has passed on. Other clusters, and
/// whether a fence is in the right thread, are left to the race detector.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// The maps that the copies of one cluster use.
class TensorMapWatch {
 public:
  explicit TensorMapWatch(Cluster& cluster) : cluster_(cluster) {}

  /// Whether there is nothing to look at: writers ask before they say what they write.
  [[nodiscard]] bool is_empty() const { return maps_.empty(); }

  /// A copy of one lane through the map is issued. Throws SimulationError{contract} if the map was
  /// changed and no fence.proxy.tensormap has acquired it since. Read-only maps (parameters and
  /// constants) are not watched.
  void begin_copy(const Site& site, uint64_t map);
  /// It is complete.
  void end_copy(const Site& site, uint64_t map);
  /// Threads have waited for all of their bulk groups. That ends the reading of the maps that their
  /// copies use, those on mbarriers too: published kernels rely on it before they change a map.
  void end_reading(const Strand& strand, LaneMask lanes);

  /// Bytes of global memory are written. Throws SimulationError{contract} if they hold a map that a
  /// copy in flight reads.
  void write(const Site& site, uint64_t address, size_t bytes);
  /// The same of a whole map, which is watched from now on.
  void change(const Site& site, uint64_t map);
  /// fence.proxy.tensormap with .acquire, or tensormap.cp_fenceproxy, of this map.
  void fence(uint64_t map);

 private:
  struct Copy {
    Origin origin;  ///< who has issued it
    bool reads = true;
  };
  struct Map {
    uint64_t address = 0;
    std::vector<Copy> copies = {};  ///< under way
    Origin change = {};  ///< the last one that no fence has handed on; no instruction: none
  };
  [[nodiscard]] bool is_watched(uint64_t map) const;
  [[nodiscard]] Map& find_or_add(uint64_t map);

  Cluster& cluster_;
  std::vector<Map> maps_;  ///< few
};

}  // namespace bw::sim
