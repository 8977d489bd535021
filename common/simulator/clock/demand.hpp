#pragma once
/// \file
/// What a cluster has asked of resources that it shares with other clusters, by intervals of its
/// time: the launch's time is corrected by it (clock/launch_time.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// What clusters share.
enum class Resource : uint8_t {
  issue_slots,           ///< of an SM's four schedulers
  shared_memory_cycles,  ///< of an SM
  tensor_cycles,         ///< of an SM's tensor cores
  loading_cycles,        ///< of an SM's copy engine, for what comes from the L2 cache
  sending_cycles,        ///< of an SM's way to other SMs of a cluster
  l2_read_bytes,         ///< of the chip, as many as a read by TMA would take as long as
  l2_written_bytes,      ///< of the chip
  hbm_bytes,             ///< of the chip, read and written
};
inline constexpr size_t kResources = 8;    ///< how many there are
inline constexpr size_t kSmResources = 5;  ///< the first of them belong to an SM

/// Bytes that shared memory moves in a cycle: 32 banks of 4 bytes.
inline constexpr uint32_t kSharedPassBytes = 128;

/// Amounts of each resource.
using Amounts = std::array<float, kResources>;

/// What a cluster asks for by intervals of its own time, from its start.
struct DemandProfile {
  Cycle duration = 0;                           ///< of the cluster, without contention
  Cycle interval = 0;                           ///< how long each interval is
  std::vector<std::vector<Amounts>> intervals;  ///< by CTA; the chip's resources are in the first
  std::vector<Cycle> ends = {};                 ///< of the CTAs; none: all with the cluster
  /// By interval: by how many cycles the copies requested in it could be late without holding the
  /// cluster up: the least time that any of them waited in the copy engine for copies of earlier
  /// phases, and the time from their arrival to the first wait for them, averaged over their bytes.
  std::vector<float> slack = {};

  /// All of a resource.
  [[nodiscard]] double total(Resource resource) const;
  /// Of that what is used in the intervals that begin in this part of the cluster's time.
  [[nodiscard]] double used(Resource resource, Cycle from, Cycle until) const;
};

/// The demand of one cluster.
class Demand {
 public:
  static constexpr Cycle kInterval = 512;  ///< in which amounts are added up

  /// Begins to count for a cluster of `ctas` CTAs that starts at `start`.
  void begin(uint32_t ctas, Cycle start);

  /// When the interval begins that holds `at`, for a cluster that started at `start`.
  [[nodiscard]] static constexpr Cycle interval_begin(Cycle start, Cycle at) {
    return at - (at - start) % kInterval;
  }

  /// A CTA uses an amount of a resource from a time on.
  void use(Resource resource, uint32_t cta_rank, Cycle at, uint64_t amount) {
    add(resource, cta_rank, at, static_cast<float>(amount));
  }
  /// The same for an amount that is not a whole number.
  void add(Resource resource, uint32_t cta_rank, Cycle at, float amount) {
    if (cta_rank >= ctas_.size()) return;
    std::vector<Amounts>& intervals = ctas_[cta_rank];
    const size_t interval = interval_of(at);
    if (interval >= intervals.size()) intervals.resize(interval + 1);
    intervals[interval][static_cast<size_t>(resource)] += amount;
  }

  /// A CTA ends.
  void end(uint32_t cta_rank, Cycle at) {
    if (cta_rank < ends_.size()) ends_[cta_rank] = at - start_;
  }

  /// All of each resource that a CTA has used so far.
  [[nodiscard]] std::array<double, kResources> totals(uint32_t cta_rank) const;

  /// A copy of `bytes` that the engine requested at `asked`, after it had been `queued` there for
  /// copies of earlier phases, arrived `early`: this long before the first wait for it.
  void arrived(Cycle asked, uint64_t bytes, Cycle queued, Cycle early);

  /// How many CTAs it counts.
  [[nodiscard]] uint32_t ctas() const { return static_cast<uint32_t>(ctas_.size()); }
  /// When it has begun.
  [[nodiscard]] Cycle start() const { return start_; }
  /// What all CTAs together have used of a resource so far, by intervals; none: nothing.
  [[nodiscard]] std::vector<double> intervals_of(Resource resource) const;

  /// The same, all together, in the intervals that begin in this part of its own time.
  [[nodiscard]] double used(Resource resource, Cycle from, Cycle until) const;

  /// The demand of a cluster that took `duration`. Use of a CTA's own units beyond their capacity
  /// in an interval is moved to the following intervals.
  [[nodiscard]] DemandProfile profile(Cycle duration) const;

 private:
  /// Copies that were asked for in an interval.
  struct Copies {
    float bytes = 0;
    float byte_cycles = 0;  ///< each byte times how early it arrived
    float least_queued = std::numeric_limits<float>::infinity();
  };

  [[nodiscard]] size_t interval_of(Cycle at) const {
    return at <= start_ ? 0 : (at - start_) / kInterval;
  }
  [[nodiscard]] std::vector<float> slack_by(size_t intervals, size_t merged) const;

  Cycle start_ = 0;
  std::vector<std::vector<Amounts>> ctas_;
  std::vector<Cycle> ends_;
  std::vector<Copies> copies_;  ///< by interval
};

}  // namespace bw::sim
