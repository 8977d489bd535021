#pragma once
/// \file
/// Fair timing of several contestants: single launches, interleaved, on the device's clock.

#include <functional>
#include <vector>

namespace bw {

/// Times of one contestant's launches, in microseconds.
class Times {
 public:
  explicit Times(std::vector<double> microseconds);

  double median() const { return quantile(0.5); }
  /// The distance between the first and last tenths, as a share of the median.
  double spread() const { return (quantile(0.9) - quantile(0.1)) / median(); }
  double shortest() const { return sorted_.front(); }

 private:
  double quantile(double share) const;
  std::vector<double> sorted_;
};

/// Something that enqueues one launch on the default stream.
using Launch = std::function<void()>;

/// Runs every contestant `warm_ups` times, then `repeats` rounds in which each of them is launched
/// once, in turn, so that all see the same clocks and temperatures. Each launch stands alone
/// between two events; a kernel that only waits precedes it, so that the host's part of a launch is
/// never measured.
std::vector<Times> time_in_turn(const std::vector<Launch>& contestants, int warm_ups, int repeats);

}  // namespace bw
