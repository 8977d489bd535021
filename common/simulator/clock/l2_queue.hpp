#pragma once
/// \file
/// How much later copies come the more is read of the L2 cache.

#include <algorithm>

namespace bw::sim {

/// Who asks finds others that are being served, before the cache gives all it can. On an H100 SMs
/// with three boxes of 8 KB under way get 0.84 of what the cache gives, those with six 0.95: each
/// waits some cycles times u / (1 - u) where a part u is in use, as in a queue with one server.
class L2Queue {
 public:
  /// `cycles`: what is waited where half of the bandwidth is in use; 0: nobody waits.
  explicit L2Queue(double cycles) : cycles_(cycles) {}

  /// For a step of so many cycles `bytes` a cycle are read, where there are `most`.
  void read(double bytes, double most, double step) {
    const double part = std::min(bytes / most, 1.0);
    used_ += (part - used_) * std::min(1.0, step / kMeanCycles);
    const double queued = std::min(used_, kMostUsed);
    delay_ = cycles_ * queued / (1 - queued);
    read_ += bytes * step;
    delayed_ += bytes * step * delay_;
  }
  /// How much later than on an idle chip a copy comes now.
  [[nodiscard]] double delay() const { return delay_; }
  /// The same in the mean of all bytes so far.
  [[nodiscard]] double mean_delay() const { return read_ == 0 ? 0 : delayed_ / read_; }

 private:
  /// In which it is counted how much is in use: a burst is no queue, it waits for its own bytes.
  static constexpr double kMeanCycles = 1024;
  /// What is asked for beyond that waits for its bytes.
  static constexpr double kMostUsed = 0.97;

  double cycles_;
  double used_ = 0;
  double delay_ = 0;
  double read_ = 0;     ///< bytes
  double delayed_ = 0;  ///< bytes times cycles
};

}  // namespace bw::sim
