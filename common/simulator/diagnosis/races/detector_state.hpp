#pragma once
/// \file
/// What the detector keeps of one cluster: its mbarriers, barriers, groups and operations under
/// way. Only the detector's own sources include it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/simulator/diagnosis/races/detector.hpp"

namespace bw::sim::races {

/// What reports call an instruction that uses an mbarrier.
inline constexpr const char* kMbarrierUnit = "mbarrier operation";

/// What reports call an arrival on an mbarrier, and a wait for one of its phases.
inline constexpr const char* kArrivalUnit = "arrival";
inline constexpr const char* kWaitUnit = "wait";

/// What a cp.async.mbarrier.arrive hands on: its thread's copies. The thread's other accesses and
/// its order are kept for reports.
struct CopyArrival {
  View copies, rest;
};

/// Of a pair of numbers, one of which is small.
inline uint64_t key_of(uint32_t high, uint64_t low) { return uint64_t{high} << 48 ^ low; }

/// The semantics of an instruction, with the default that its form has.
inline Semantics semantics_of(const Origin& origin, MemoryOrder order, MemoryScope scope) {
  Semantics found{origin.instruction->order, origin.instruction->scope};
  if (found.order == MemoryOrder::unspecified) found.order = order;
  if (found.scope == MemoryScope::unspecified) found.scope = scope;
  return found;
}

/// What `origin` executed, as the access of `agent`: of its warp, or of a chain that it started.
inline Accessor accessor_of(const Origin& origin, uint32_t agent) {
  Accessor accessor;
  accessor.instruction = origin.instruction;
  accessor.agent = agent;
  accessor.cta_rank = origin.cta_rank;
  accessor.warp = origin.warp;
  return accessor;
}

/// A named barrier of a CTA.
struct NamedBarrierState {
  Handover pending;              ///< to the current phase
  std::vector<Origin> arrivals;  ///< in it
  std::vector<Origin> waiters;   ///< in it
  std::vector<Origin> previous;  ///< the arrivals in the phase before
  Threads::Ticket complete;      ///< of the phase before; clock 0: there was none
};

/// Operations of a thread or warp that complete in order, in groups: a wait for a group is one for
/// all groups before it as well.
struct OrderedGroups {
  uint32_t chain = 0;           ///< whose operations they are
  uint32_t read_chain = 0;      ///< of bulk copies: of what they do to their sources
  Clock last = 0;               ///< the last operation
  std::deque<Clock> committed;  ///< the last operation of each group, as far as waits may ask
  /// An operation that several lanes have issued as one: it is on the lowest lane's chains, and
  /// waiting for `own` of this thread's chain is waiting for it.
  struct Shared {
    Clock own = 0;            ///< its number among the thread's operations
    uint32_t chain = 0;       ///< whose operation it is
    uint32_t read_chain = 0;  ///< and of what it does to its source
    Clock clock = 0;          ///< its number there
    Clock read_clock = 0;     ///< and on read_chain
  };
  std::vector<Shared> shared;  ///< ascending by `own`

  /// What was issued since the last commit is a group.
  void commit() {
    constexpr size_t kMostPending = 4096;
    committed.push_back(last);
    if (committed.size() > kMostPending) committed.pop_front();
  }
  /// Calls learn(Shared) for the latest operations up to `own` on each chain, and forgets those
  /// that later ones include.
  template <class Learn>
  void for_shared(Clock own, Learn&& learn) {
    for (size_t i = 0; i < shared.size() && shared[i].own <= own;) {
      const bool is_included = std::any_of(
          shared.begin() + static_cast<std::ptrdiff_t>(i) + 1, shared.end(),
          [&](const Shared& later) { return later.own <= own && later.chain == shared[i].chain; });
      if (is_included) {
        shared.erase(shared.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      learn(shared[i++]);
    }
  }
  /// What has completed when all but `allowed` groups have; 0 if nothing.
  [[nodiscard]] Clock completed(uint32_t allowed) const {
    return committed.size() <= allowed ? 0 : committed[committed.size() - 1 - allowed];
  }
};

/// A commit or a request that signals mbarriers, each of which brings it on its way.
struct Signalling {
  Agent agent;      ///< that does it
  int signals = 0;  ///< that are still to come
};

/// One mbarrier object.
struct Detector::Barrier {
  Handover pending;              ///< to the current phase
  std::array<Handover, 2> done;  ///< to the two phases before, by parity
  Touch init;                    ///< the thread that initialised it, and when
  std::vector<bool> ordered;     ///< warps that are known to be ordered after that, by their number
};

/// Everything that synchronises, and who is under way.
struct Detector::State {
  std::unordered_map<uint64_t, Barrier> barriers;                  ///< by CTA and offset
  std::unordered_map<uint64_t, NamedBarrierState> named_barriers;  ///< by CTA and number
  Handover cluster_pending;                         ///< to the cluster barrier's current phase
  Handover cluster_done;                            ///< to the phase before
  std::unordered_map<uint64_t, Handover> sent;      ///< arrivals on their way
  std::unordered_map<uint64_t, Signalling> agents;  ///< commits and requests, by operation
  std::unordered_map<uint64_t, CopyArrival> cp_async_arrivals;  ///< by operation
  std::unordered_set<uint32_t> cp_async_arrivers;               ///< warps with such arrivals
  std::unordered_map<uint64_t, CopyAgents> copies;              ///< by operation
  std::unordered_map<uint64_t, OrderedGroups> bulk;             ///< by thread
  std::unordered_map<uint64_t, OrderedGroups> cp_async;         ///< by thread
  std::unordered_map<uint64_t, OrderedGroups> wgmma;            ///< by warp
  std::unordered_map<uint64_t, Handover> variables;  ///< for strong accesses, by CTA and offset

  /// The mbarrier at an offset of a CTA's shared memory; null where none was initialised.
  Barrier* barrier(uint16_t cta_rank, uint32_t offset_bytes) {
    const auto found = barriers.find(key_of(cta_rank, offset_bytes));
    return found == barriers.end() ? nullptr : &found->second;
  }
};

}  // namespace bw::sim::races
