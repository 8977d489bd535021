#pragma once
/// \file
/// The ways of an SM's data, as the accesses of one CTA compete for them: shared memory (and the
/// first-level cache, which lies in the same memory) with its 128 bytes a cycle, and the ways from
/// and to the L2 cache. Only with a timing model.

#include <array>
#include <cstdint>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/timing/sm_times.hpp"
#include "common/simulator/units/memory/l1_cache.hpp"

namespace bw::sim {

/// Bytes that shared memory moves in a cycle: 32 banks of 4 bytes.
inline constexpr uint32_t kSharedPassBytes = 128;

/// What the CTA's threads, copies and MMAs find in their SM.
class SmMemory {
 public:
  /// For a CTA.
  explicit SmMemory(Cta& cta) : cta_(cta) {}

  /// Takes shared memory for `cycles` passes, not all at once where others are there: when the last
  /// of them is through. Times may go back.
  Cycle pass(Cycle from, uint64_t cycles) {
    if (cycles == 0) return from;
    cta_.cluster->demand().use(Resource::shared_memory_cycles, cta_.rank, from, cycles);
    passes_.forget_before(cta_.cluster->now());
    return passes_.reserve(from, static_cast<uint32_t>(cycles));
  }
  /// The first-level cache; of the size that shared memory leaves.
  [[nodiscard]] L1Cache& l1() {
    if (!l1_.has_size()) l1_.set_size(l1_bytes());
    return l1_;
  }

  Server from_l2;    ///< what threads load
  Server to_l2;      ///< what threads and copies store
  Server multicast;  ///< what comes by copies to several CTAs
  /// Loads and stores of tensor memory: each quarter of its lanes has a way of its own.
  std::array<Server, 4> tensor_memory;

 private:
  /// What this CTA may have of the first-level cache, which all CTAs on the SM share.
  [[nodiscard]] size_t l1_bytes() const;

  Cta& cta_;
  IssueCalendar passes_;
  L1Cache l1_;
};

}  // namespace bw::sim
