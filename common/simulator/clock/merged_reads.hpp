#pragma once
/// \file
/// What reaches the L2 cache once though several SMs of a port read it.

#include <cstdint>
#include <limits>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

struct TimingTable;

/// Weight of the earlier counts relative to the current ones.
inline constexpr double kCountedBefore = 0.5;

/// CTAs that begin together read together, until SMs drift apart: the fraction of the mergeable
/// reads that are merged at a time `at` after the beginning of the launch. Where CTAs share SMs,
/// half of the reads that drifting would keep apart are merged, too.
[[nodiscard]] double merged_part(const TimingTable& times, double at, bool ctas_share_sms = false);

/// A read that others may make as well, at about the same time.
struct L2Read {
  uint64_t key = 0;   ///< of the lines: the same for reads of the same ones
  uint32_t port = 0;  ///< of the SM
  Cycle at = 0;       ///< when it was asked for
  double bytes = 0;
};

/// Finds reads that are merged, among reads in the order of their lines, ports and times.
class OpenRequest {
 public:
  /// Requests for the same lines through the same port join one that is at most `window` cycles
  /// old.
  explicit OpenRequest(double window) : window_(window) {}
  /// Whether the next read joins the open request; if not, it is the open one from now on.
  bool is_joined_by(uint64_t key, uint32_t port, double at) {
    if (key == key_ && port == port_ && at <= at_ + window_) return true;
    key_ = key;
    port_ = port;
    at_ = at;
    return false;
  }

 private:
  double window_;
  uint64_t key_ = 0;
  uint32_t port_ = 0;
  double at_ = -std::numeric_limits<double>::infinity();  ///< none is open
};

/// What several SMs of a port read at about the same time.
class MergedReads {
 public:
  /// Notes reads. Their order does not matter.
  void add(const std::vector<L2Read>& reads) {
    reads_.insert(reads_.end(), reads.begin(), reads.end());
  }
  /// Counts those that were noted since the last time and asked for before `until`. Older ones
  /// count less and less.
  void count(const TimingTable& times, Cycle until = kNever);
  /// What is left on average of a byte that is read through a port: less than 1 where reads were
  /// merged. For a port without counts, the average of all ports.
  [[nodiscard]] double part(uint32_t port) const {
    return port < ports_.size() && ports_[port].asked_bytes != 0 ? ports_[port].part : all_.part;
  }

 private:
  struct Count {
    double asked_bytes = 0;
    double saved_bytes = 0;  ///< of them, since reads were merged
    double part = 1;
  };
  std::vector<L2Read> reads_;
  std::vector<Count> ports_;
  Count all_;
};

}  // namespace bw::sim
