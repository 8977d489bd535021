#pragma once
/// \file
/// What the threads of a cluster know, and the asynchronous operations that they begin.
///
/// The lanes of a warp are not ordered among each other unless they meet (bar.warp.sync and the
/// like), but mostly they know the same: a warp's lanes are kept as groups that share a view.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "common/simulator/diagnosis/races/clock.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// The same instruction, of these lanes alone.
[[nodiscard]] inline Origin with_lanes(const Origin& origin, LaneMask lanes) {
  Origin changed = origin;
  changed.lanes = lanes;
  return changed;
}

/// An asynchronous operation under way: an agent of its own, which begins with what its issuer
/// knew.
struct Agent {
  uint32_t chain = 0;  ///< the chain of operations that it is on
  Clock clock = 0;     ///< its number there
  SharedView start;    ///< what its issuer knew

  /// Adds its end, and all that went before, to what is handed on.
  void complete(View& into) const {
    into.join(*start);
    into.generic.learn_chain(chain, clock);
  }
};

/// Which memory a proxy fence is about.
enum class ProxyFence : uint8_t { all, shared, global };

/// What lanes have seen that no order makes known to them, and what their relaxed operations hand
/// on.
struct Unordered {
  // Relaxed operations hand on, and take in, only what fences say.
  View fenced;     ///< what a relaxed operation hands on
  View seen;       ///< what a later fence acquires, of its own CTA
  View seen_wide;  ///< the same of other CTAs: a fence with a scope that contains them takes it in
  // Why a thread is not ordered after something that was handed on, for reports.
  View too_narrow;  ///< the scope of one of the two instructions was too narrow
  View relaxed;     ///< one of the two instructions was relaxed
  /// The same of strong writes by other clusters, as far as no fence came before them. Apart from
  /// `relaxed`, whose clocks many threads share.
  VectorClock unfenced;

  /// Everything that `other` holds.
  void join(const Unordered& other);
};

/// Lanes of a warp that know the same.
struct LaneGroup {
  LaneMask lanes = 0;  ///< a set of lanes
  View view;           ///< what they know of others, and what they knew of each other when they met
  Clock own_async = 0;  ///< each lane's own accesses up to here are fenced for the async proxy
  Clock own_async_global = 0;  ///< the same for global memory
  Clock own_async_reads = 0;   ///< the same for reads of shared memory alone
  Clock own_inits = 0;  ///< each lane's own mbarrier.init up to here are fenced for all threads
  MemoryScope fenced_scope = MemoryScope::unspecified;  ///< of the fence of Unordered::fenced

  /// What is not ordered.
  [[nodiscard]] const Unordered& unordered() const {
    static const Unordered kNone;
    return unordered_ == nullptr ? kNone : *unordered_;
  }
  /// The same for a change.
  [[nodiscard]] Unordered& own_unordered() { return unordered_.own(); }
  /// Adds to a part of it.
  void keep(View Unordered::*part, const View& seen) {
    if (!seen.empty()) (own_unordered().*part).join(seen);
  }
  /// Adds all that another group keeps.
  void keep_all_of(const LaneGroup& other) {
    if (unordered_ == nullptr)
      unordered_ = other.unordered_;
    else if (other.unordered_ != nullptr && other.unordered_ != unordered_)
      own_unordered().join(*other.unordered_);
  }

 private:
  SharedValue<Unordered> unordered_;  ///< copies share it until one is changed; null: nothing
};

/// All threads of one cluster.
class Threads {
 public:
  /// Of a cluster of `ctas` CTAs with that many warps each.
  Threads(uint32_t ctas, uint32_t warps_per_cta);

  /// Number of a warp in its cluster.
  [[nodiscard]] uint32_t warp_of(const Origin& origin) const {
    return origin.cta_rank * warps_per_cta_ + origin.warp;
  }
  /// The clock of what the warp's lanes do now.
  [[nodiscard]] Clock now(const Origin& origin) const { return warps_[warp_of(origin)].now; }

  /// Calls body(lanes, group) for each group of lanes of the origin that know the same.
  template <class Body>
  void for_groups(const Origin& origin, Body&& body) {
    for (LaneGroup& group : warps_[warp_of(origin)].groups)
      if (const LaneMask lanes = group.lanes & origin.lanes; lanes != 0) body(lanes, group);
  }
  /// The same, for groups that can be changed: they hold no other lanes.
  template <class Body>
  void change_groups(const Origin& origin, Body&& body) {
    isolate(origin);
    for (LaneGroup& group : warps_[warp_of(origin)].groups)
      if ((group.lanes & origin.lanes) != 0) body(group);
  }

  /// Adds all that the lanes have done and know to `into`, and begins their next step.
  void release(const Origin& origin, View& into);
  /// The same as a value that lasts.
  [[nodiscard]] SharedView snapshot(const Origin& origin);
  /// Adds what relaxed operations of the lanes hand on: what a fence before them has released.
  /// Returns the scope of that fence, the narrowest of all lanes'.
  MemoryScope release_fenced(const Origin& origin, View& into);
  /// The lanes learn what was handed on.
  void acquire(const Origin& origin, const View& view);
  /// The lanes have met: each knows what any of them knew and did.
  void meet(const Origin& origin);
  /// The lanes know `view`, which holds all that they knew before.
  void replace(const Origin& origin, const View& view);

  /// fence.acq_rel, fence.sc and the like, of this scope.
  void fence(const Origin& origin, MemoryOrder order, MemoryScope scope);
  /// fence.proxy.async: what the lanes know, the async proxy sees.
  void fence_proxy_async(const Origin& origin, ProxyFence memory);
  /// fence.proxy.async::generic.release.sync_restrict::shared::cluster::read: the async proxy sees
  /// what the lanes themselves have read in shared memory.
  void fence_proxy_async_reads(const Origin& origin);
  /// fence.mbarrier_init: all mbarrier.init that precede the lanes become visible to all threads.
  void fence_mbarrier_init(const Origin& origin);

  /// An operation that the lanes of the origin issue now and that completes alone.
  [[nodiscard]] Agent begin(const Origin& origin);
  /// One that completes after all that the (lowest) lane has issued to this queue before (numbers
  /// are up to the caller): its completion implies theirs.
  [[nodiscard]] Agent begin_in_order(const Origin& origin, uint32_t queue);
  /// The same without what the issuer knows.
  struct Ticket {
    uint32_t chain = 0;  ///< the chain of operations that it is on
    Clock clock = 0;     ///< its number there
  };
  /// The chain of a queue, for who numbers its operations.
  [[nodiscard]] uint32_t queue_of(uint32_t warp, int lane, uint32_t queue);
  /// The same without what the issuer knows.
  [[nodiscard]] Ticket next_in_order(uint32_t warp, int lane, uint32_t queue);

 private:
  struct WarpState {
    Clock now = 1;
    std::vector<LaneGroup> groups;
  };

  /// Splits groups that hold lanes of the origin and others.
  void isolate(const Origin& origin);
  /// Adds what a group's lanes did.
  static void add_own(const LaneGroup& group, LaneMask lanes, uint32_t warp, Clock now, View& into);
  /// Adds what a group's lanes know and did.
  static void add(const LaneGroup& group, LaneMask lanes, uint32_t warp, Clock now, View& into);

  uint32_t warps_per_cta_;
  std::vector<WarpState> warps_;
  struct Chain {
    Clock last = 0;         ///< number of its last operation
    bool is_queue = false;  ///< of begin_in_order()
  };
  std::vector<Chain> chains_;
  size_t next_candidate_ = 0;
  std::map<std::tuple<uint32_t, int, uint32_t>, uint32_t> queues_;  ///< to their chains
};

}  // namespace bw::sim::races
