#pragma once
/// \file
/// Two contestants measured in turn.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace bw::bench {

/// Wall time of a call.
inline double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The middle one of several values.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median wall times of two contestants that take turns, in seconds, and of the rounds' ratios:
/// what slows the machine down for a while slows both.
struct Duel {
  double first = 0;   ///< seconds
  double second = 0;  ///< seconds
  double ratio = 0;   ///< first / second
};

/// Runs both in turn for at least kLeastRounds rounds and about kLeastSeconds, after one that is
/// not counted.
inline Duel duel(const std::function<void()>& first, const std::function<void()>& second) {
  constexpr size_t kLeastRounds = 5, kMostRounds = 101;
  constexpr double kLeastSeconds = 3;
  first();
  second();
  std::vector<double> firsts, seconds, ratios;
  double total = 0;
  while (firsts.size() < kLeastRounds || (total < kLeastSeconds && firsts.size() < kMostRounds)) {
    firsts.push_back(seconds_of(first));
    seconds.push_back(seconds_of(second));
    ratios.push_back(firsts.back() / seconds.back());
    total += firsts.back() + seconds.back();
  }
  return {median(firsts), median(seconds), median(ratios)};
}

}  // namespace bw::bench
