#pragma once
/// \file
/// Reads of clusters that did not advance together: once the run is over and their times are known,
/// this finds how many of them reached the L2 cache once.

#include <cstdint>
#include <span>
#include <vector>

#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/launch_time.hpp"
#include "common/simulator/clock/merged_reads.hpp"

namespace bw::sim {

struct TimingTable;

/// The reads of a launch's clusters.
class LaunchReads {
 public:
  /// For that many clusters, `resident` of them at once. `ctas_share_sms`: several CTAs are on an
  /// SM at one time.
  LaunchReads(uint64_t clusters, uint64_t resident, bool ctas_share_sms)
      : reads_(clusters), resident_(resident), ctas_share_sms_(ctas_share_sms) {}

  /// Notes what a cluster has read, by its own time from its start.
  void add(uint64_t cluster, const std::vector<L2Read>& reads) {
    reads_[cluster].insert(reads_[cluster].end(), reads.begin(), reads.end());
  }

  /// The fraction of each cluster's bytes that reaches the cache, averaged over its wave and port,
  /// if the launch ran like that. `profiles` have each one's time without contention.
  [[nodiscard]] std::vector<double> parts(const TimingTable& times, const LaunchTime& launch,
                                          std::span<const DemandProfile> profiles) const;

 private:
  [[nodiscard]] std::vector<uint32_t> ports(std::span<const ClusterLife> lives) const;

  std::vector<std::vector<L2Read>> reads_;  ///< by cluster
  uint64_t resident_;
  bool ctas_share_sms_;
};

}  // namespace bw::sim
