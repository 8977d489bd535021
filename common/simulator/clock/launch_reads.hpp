#pragma once
/// \file
/// What clusters read that did not advance together: how much of it reached the L2 cache once is
/// found behind the run, when it is known when they ran.

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
  /// Of so many clusters, `resident` of them at once.
  LaunchReads(uint64_t clusters, uint64_t resident) : reads_(clusters), resident_(resident) {}

  /// Notes what a cluster has read, by its own time from its start.
  void add(uint64_t cluster, const std::vector<L2Read>& reads) {
    reads_[cluster].insert(reads_[cluster].end(), reads.begin(), reads.end());
  }

  /// What of each cluster's bytes reaches the cache, 0 to 1, in the mean of those of its wave and
  /// port, if the launch went like that. `profiles` say how long each took with nobody in its way.
  [[nodiscard]] std::vector<double> parts(const TimingTable& times, const LaunchTime& launch,
                                          std::span<const DemandProfile> profiles) const;

 private:
  [[nodiscard]] std::vector<uint32_t> ports(std::span<const ClusterLife> lives) const;

  std::vector<std::vector<L2Read>> reads_;  ///< by cluster
  uint64_t resident_;
};

}  // namespace bw::sim
