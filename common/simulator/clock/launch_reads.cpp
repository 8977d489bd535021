#include "common/simulator/clock/launch_reads.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

/// A read by the launch's time.
struct TimedRead {
  uint64_t key = 0;  ///< of the lines
  uint32_t port = 0;
  uint32_t wave = 0;
  double at = 0;
  double bytes = 0;
};

/// What the clusters of a wave read through a port.
struct Sum {
  double asked_bytes = 0;
  double reached_bytes = 0;  ///< of them, those that the cache was asked for
};

}  // namespace

/// The port through which each cluster reads. One that follows others is placed where a CTA has
/// just ended, so neighbours in the launch share a GPC only at random.
std::vector<uint32_t> LaunchReads::ports(std::span<const ClusterLife> lives) const {
  std::vector<uint32_t> result(lives.size());
  for (uint64_t cluster = 0; cluster < lives.size(); ++cluster)
    result[cluster] = lives[cluster < resident_ ? cluster : scatter(cluster) % resident_].port;
  return result;
}

std::vector<double> LaunchReads::parts(const TimingTable& times, const LaunchTime& launch,
                                       std::span<const DemandProfile> profiles) const {
  const std::vector<uint32_t> port_of = ports(launch.lives);
  size_t count = 0;
  for (const std::vector<L2Read>& own : reads_) count += own.size();
  std::vector<TimedRead> reads;
  reads.reserve(count);
  for (size_t cluster = 0; cluster < reads_.size(); ++cluster) {
    const ClusterLife& life = launch.lives[cluster];
    const auto alone = static_cast<double>(std::max<Cycle>(1, profiles[cluster].duration));
    const double longer = (life.end - life.begin) / alone;
    for (const L2Read& read : reads_[cluster])
      reads.push_back({read.key, port_of[cluster], static_cast<uint32_t>(cluster / resident_),
                       life.begin + static_cast<double>(read.at) * longer, read.bytes});
  }
  std::sort(reads.begin(), reads.end(), [](const TimedRead& a, const TimedRead& b) {
    return std::tie(a.key, a.port, a.at, a.wave) < std::tie(b.key, b.port, b.at, b.wave);
  });
  // A request while the lines are on their way gets them, too; on a busy chip that takes longer.
  const double window =
      static_cast<double>(times.l2_merge_cycles) + times.l2_merge_queue_part * launch.l2_queue;
  const size_t port_count =
      port_of.empty() ? 1 : *std::max_element(port_of.begin(), port_of.end()) + size_t{1};
  std::vector<Sum> sums(ceil_div(reads_.size(), resident_) * port_count);
  OpenRequest open(window);
  for (const TimedRead& read : reads) {
    Sum& sum = sums[read.wave * port_count + read.port];
    sum.asked_bytes += read.bytes;
    const bool is_merged = open.is_joined_by(read.key, read.port, read.at);
    const double part = is_merged ? merged_part(times, read.at, ctas_share_sms_) : 0;
    sum.reached_bytes += read.bytes * (1 - part);
  }
  std::vector<double> result(reads_.size(), 1);
  for (size_t cluster = 0; cluster < reads_.size(); ++cluster) {
    const Sum& sum = sums[cluster / resident_ * port_count + port_of[cluster]];
    if (sum.asked_bytes != 0) result[cluster] = sum.reached_bytes / sum.asked_bytes;
  }
  return result;
}

}  // namespace bw::sim
