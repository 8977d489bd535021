#pragma once
/// \file
/// Queueing delay of copies as a function of L2 utilisation.

#include <algorithm>

namespace bw::sim {

/// A request queues even before the cache is saturated. On an H100 SMs with three boxes of 8 KB in
/// flight get 0.84 of the cache's bandwidth, those with six 0.95: at utilisation u each waits some
/// cycles times u / (1 - u), as in a queue with one server.
class L2Queue {
 public:
  /// `cycles`: the delay at half of the bandwidth; 0: no delay.
  explicit L2Queue(double cycles) : cycles_(cycles) {}

  /// For `step` cycles `bytes` a cycle are read, of `most` at most.
  void read(double bytes, double most, double step) {
    const double part = std::min(bytes / most, 1.0);
    used_ += (part - used_) * std::min(1.0, step / kMeanCycles);
    const double queued = std::min(used_, kMostUsed);
    delay_ = cycles_ * queued / (1 - queued);
    read_ += bytes * step;
    delayed_ += bytes * step * delay_;
  }
  /// The current delay of a copy compared with an idle chip.
  [[nodiscard]] double delay() const { return delay_; }
  /// The average over all bytes so far.
  [[nodiscard]] double mean_delay() const { return read_ == 0 ? 0 : delayed_ / read_; }

 private:
  /// Averaging window of the utilisation: a burst does not queue, it waits for its own bytes.
  static constexpr double kMeanCycles = 1024;
  /// Demand beyond that waits for its own bytes.
  static constexpr double kMostUsed = 0.97;

  double cycles_;
  double used_ = 0;
  double delay_ = 0;
  double read_ = 0;     ///< bytes
  double delayed_ = 0;  ///< bytes times cycles
};

}  // namespace bw::sim
