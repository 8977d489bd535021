#pragma once
/// \file
/// What threads hand on through memory: strong accesses to one location, with an order and a scope
/// of their own or of an adjacent fence (PTX ISA, "Memory Consistency Model: Release and Acquire
/// Patterns").
///
/// A release pattern is a strong write that releases, or a fence and then a strong write; an
/// acquire pattern is a strong read that acquires, or a strong read and then a fence. The two
/// synchronise if the read takes the value from the write (or from atomics that have changed it
/// since) and each side's scope contains the other side.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/diagnosis/races/clock.hpp"
#include "common/simulator/isa/memory_order.hpp"

namespace bw::sim::races {

/// The position of a thread, as far as scopes distinguish it.
struct ThreadPosition {
  uint64_t cluster = 0;   ///< index in the grid
  uint16_t cta_rank = 0;  ///< in the cluster
  friend bool operator==(const ThreadPosition&, const ThreadPosition&) = default;
};

/// Whether two operations' scopes contain each other's thread.
[[nodiscard]] constexpr bool scopes_meet(const ThreadPosition& a, MemoryScope a_scope,
                                         const ThreadPosition& b, MemoryScope b_scope) {
  if (a == b) return true;
  const MemoryScope needed = a.cluster == b.cluster ? MemoryScope::cluster : MemoryScope::gpu;
  return a_scope >= needed && b_scope >= needed;
}

/// Instead of a cluster's index: many threads of several clusters, each of which is foreign to
/// their view.
inline constexpr uint64_t kManyClusters = ~uint64_t{0};

/// What a thread has handed on by a strong write.
struct Released {
  ThreadPosition from{};                         ///< who
  MemoryScope scope = MemoryScope::unspecified;  ///< how far it reaches
  SharedView view;                               ///< what they knew, in their cluster's numbers
  /// The same as other clusters see it, and the view that this was made of: for several readers.
  mutable SharedView abroad{}, abroad_of{};

  /// What they knew becomes known to a thread of the cluster `home`.
  void tell(View& known, uint64_t home) const {
    if (from.cluster == home) return known.join(*view);
    if (from.cluster == kManyClusters) {
      known.join_foreign(*view);
    } else {
      if (abroad_of != view) {
        SharedView made = SharedView::make();
        made.change().join_foreign(*view, from.cluster);
        abroad = std::move(made);
        abroad_of = view;
      }
      known.join_foreign(*abroad);
    }
    known.take_home(home);
  }
};

/// Which location: a device address, or a place in a CTA's shared memory.
struct Location {
  uint64_t key = 0;  ///< unique among both
  /// Of global memory.
  [[nodiscard]] static constexpr Location global(uint64_t address) { return {address}; }
  /// Of shared memory, where `window` tells CTAs apart.
  [[nodiscard]] static constexpr Location shared(uint64_t window, uint32_t offset_bytes) {
    return {kSharedBit | window << kOffsetBits | offset_bytes};
  }
  friend bool operator==(const Location&, const Location&) = default;

 private:
  static constexpr uint64_t kSharedBit = 1ull << 63;
  static constexpr int kOffsetBits = 24;
};

/// A strong write that is not a release, for reports: as a release it would have handed on
/// everything before it.
struct Unreleased {
  uint64_t cluster = 0;  ///< of the thread
  uint32_t warp = 0;     ///< in its cluster
  LaneMask lanes = 0;    ///< the thread; none without such a write
  Clock clock = 0;       ///< of the warp
};

/// What a read of a location finds.
struct LocationState {
  /// One for each CTA and scope. Where more than a few CTAs hand on to all of the GPU, as at a
  /// barrier of the whole grid, they are one (kManyClusters).
  std::vector<Released> released;
  Unreleased unreleased;  ///< the last strong write that was no release
  /// Writes that were not atomics so far. From one to the next what `released` holds only grows.
  uint32_t stores = 0;
};

/// The contents of locations. One table for the clusters that run on one host thread.
class LocationTable {
 public:
  /// A strong write. A store leaves only what its own thread hands on; an atomic adds to what the
  /// value that it changes carries. `writer`: of one that is not a release.
  void write(Location location, bool is_atomic, std::span<const Released> released,
             const Unreleased& writer);
  /// What a read of the location finds, or nullptr.
  [[nodiscard]] const LocationState* read(Location location) const {
    const auto found = states_.find(location.key);
    return found == states_.end() ? nullptr : &found->second;
  }
  /// Whether no location holds anything.
  [[nodiscard]] bool empty() const { return states_.empty(); }

 private:
  /// Adds what a CTA hands on to what others have.
  static void add(LocationState& state, const Released& one);

  std::unordered_map<uint64_t, LocationState> states_;
};

/// What the fences and strong reads of one thread have prepared.
class ThreadOrder {
 public:
  /// A fence that releases: what the thread knows will go with its strong writes from now on.
  void release_fence(MemoryScope scope, const SharedView& view);
  /// What a strong write that does not release itself hands on, by the fences before it.
  void collect_released(const ThreadPosition& self, MemoryScope write_scope,
                        std::vector<Released>& out) const;
  /// A strong read that does not acquire: what it has found waits for a fence. `stores` of the
  /// location's state. Returns whether it is new.
  bool keep(Location location, const Released& found, uint32_t stores, MemoryScope read_scope);
  /// Whether an acquiring read of the location finds what it has found before; if not, it has now.
  [[nodiscard]] bool has_acquired(Location location, const Released& found) {
    for (Acquired& known : acquired_)
      if (known.location == location && known.from == found.from && known.scope == found.scope)
        return std::exchange(known.view, found.view) == found.view;
    constexpr size_t kMostAcquired = 64;
    if (acquired_.size() == kMostAcquired) acquired_.clear();
    acquired_.push_back({location, found.from, found.scope, found.view});
    return false;
  }
  /// A fence that acquires: calls learn(Location, Released, whether the fence reaches it) for what
  /// strong reads have found.
  template <class Learn>
  void acquire_fence(const ThreadPosition& self, MemoryScope scope, Learn&& learn) const {
    for (const Kept& kept : kept_)
      learn(kept.location, kept.released,
            scopes_meet(self, scope, kept.released.from, kept.released.scope));
  }

 private:
  struct Fenced {
    MemoryScope scope = MemoryScope::unspecified;
    SharedView view;
  };
  struct Kept {
    Location location;
    Released released;
    uint32_t stores = 0;  ///< of the location's state
    SharedView before;    ///< what was found before the latest of these stores
    SharedView latest;    ///< what was found last: a spinning read finds it again and again
  };
  struct Acquired {
    Location location;
    ThreadPosition from;
    MemoryScope scope = MemoryScope::unspecified;
    SharedView view;
  };
  std::vector<Acquired> acquired_;
  std::vector<Fenced> fenced_;  ///< one for each scope, as far as a wider one is not later
  std::vector<Kept> kept_;      ///< one for each location and place that it came from
};

}  // namespace bw::sim::races
