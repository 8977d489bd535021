#pragma once
/// \file
/// An SM's data paths, as the accesses of one CTA compete for them: shared memory (and the
/// first-level cache in the same memory) with its 128 bytes a cycle, and the paths from and to the
/// L2 cache. Only with a timing model.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/l1_cache.hpp"
#include "common/simulator/clock/sm_times.hpp"

namespace bw::sim {

/// What the threads of CTAs have moved through an SM's memory; counted with a timing model.
struct SmTraffic {
  uint64_t shared_read_bytes = 0;       ///< from shared memory, by lane
  uint64_t shared_written_bytes = 0;    ///< to it, by lane; atomics
  uint64_t shared_passes = 0;           ///< cycles that it was occupied for both
  uint64_t shared_conflict_passes = 0;  ///< of them, because lanes met in a bank
  uint64_t l1_hit_bytes = 0;            ///< sectors of device memory that the first level had
  uint64_t l1_miss_bytes = 0;           ///< sectors that it asked the L2 cache for

  /// An access of lanes that move `bytes` together.
  void count_shared(bool writes, uint32_t bytes, uint32_t passes) {
    (writes ? shared_written_bytes : shared_read_bytes) += bytes;
    shared_passes += passes;
    const uint32_t least = std::max((bytes + kSharedPassBytes - 1) / kSharedPassBytes, 1u);
    shared_conflict_passes += passes - std::min(passes, least);
  }
};

/// What the CTA's threads, copies and MMAs find in their SM.
class SmMemory {
 public:
  /// For the CTA of that rank in its cluster, which has come to the cycle `now`.
  SmMemory(Demand& demand, uint32_t rank, const Cycle& now)
      : demand_(demand), rank_(rank), now_(now) {}

  /// Takes shared memory for `cycles` passes, interleaved with others; returns when the last of
  /// them is done. Times may go back.
  Cycle pass(Cycle from, uint64_t cycles) {
    if (cycles == 0) return from;
    demand_.use(Resource::shared_memory_cycles, rank_, from, cycles);
    passes_.forget_before(now_);
    return passes_.reserve(from, static_cast<uint32_t>(cycles));
  }
  /// Likewise, spread evenly between two times: others proceed concurrently.
  Cycle pass_between(Cycle from, Cycle to, uint64_t cycles) {
    if (cycles == 0) return from;
    demand_.use(Resource::shared_memory_cycles, rank_, from, cycles);
    passes_.forget_before(now_);
    return passes_.reserve_between(from, to, static_cast<uint32_t>(cycles));
  }
  /// The CTA's share of the first-level cache, which all CTAs on the SM use.
  void set_l1_bytes(size_t bytes) { l1_bytes_ = bytes; }
  /// The first-level cache.
  [[nodiscard]] L1Cache& l1() {
    if (!l1_.has_size()) l1_.set_size(l1_bytes_);
    return l1_;
  }

  /// A store that left sectors of its lines incomplete. Those of the same warp that follow at once
  /// and write more of the same lines go with it.
  struct PartialStore {
    uint64_t first_line = 0;  ///< of them
    uint32_t lines = 0;
    uint32_t missing_bytes = 0;  ///< of their sectors
    Cycle open_until = 0;        ///< when what follows comes too late
  };
  /// The last one of a warp.
  [[nodiscard]] PartialStore& partial_store(uint32_t warp) {
    if (warp >= partial_stores_.size()) partial_stores_.resize(warp + 1);
    return partial_stores_[warp];
  }

  /// What threads load, by the scheduler of their warp: each has a quarter of the way.
  std::array<Server, SmTimes::kSchedulers> from_l2;
  Server to_l2;  ///< what threads store
  /// When threads' stores have left the SM; their loads and the requests of copies follow.
  Cycle stored_at = 0;
  Server remote;      ///< what threads load from other CTAs of the cluster and store there
  Server received;    ///< what copies bring from the L2 cache, where the CTA is one of a cluster
  SmTraffic traffic;  ///< so far; what other CTAs' threads have moved here too

 private:
  Demand& demand_;
  uint32_t rank_;
  const Cycle& now_;
  SlotCalendar passes_;
  L1Cache l1_;
  size_t l1_bytes_ = 0;
  std::vector<PartialStore> partial_stores_;
};

/// The share of an SM's first-level cache for each of its `residents` CTAs with that much shared
/// memory. `all_bytes`: of the memory that holds both.
[[nodiscard]] size_t l1_bytes(size_t all_bytes, uint64_t residents, size_t shared_bytes);

}  // namespace bw::sim
