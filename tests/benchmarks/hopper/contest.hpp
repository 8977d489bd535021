#pragma once
/// \file
/// One shape's comparison: our kernel against cuBLASLt, verified before anything is timed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/benchmarks/hopper/shapes.hpp"

namespace bw {

/// How launches are timed: see timing.hpp.
enum class Timing { kSingle, kQueued, kBoth };

/// How a comparison is made.
struct ContestOptions {
  double beta = 0;
  std::string config = "auto";  ///< a name, "auto" (the host API's choice) or "all" (the fastest)
  int warm_ups = 5;
  int repeats = 30;
  int algorithms = 16;  ///< of cuBLASLt's heuristic, at most
  uint64_t seed = 1;
  Timing timing = Timing::kBoth;

  bool times_single() const { return timing != Timing::kQueued; }
  bool times_queued() const { return timing != Timing::kSingle; }
};

/// A configuration's time in a tuning run.
struct ConfigTime {
  std::string name;
  double microseconds;
};

/// A median in microseconds, and the distance between the first and last tenths as its share.
struct MedianTime {
  double microseconds, spread;
};

/// Both contestants, timed in the same way.
struct TimePair {
  MedianTime ours;
  MedianTime peer;     ///< cuBLASLt's fastest algorithm
  int peer_algorithm;  ///< its place in the heuristic's list

  double ratio() const { return peer.microseconds / ours.microseconds; }  ///< > 1: ours is faster
};

/// What came out for a shape.
struct ContestResult {
  Shape shape;
  double beta;
  std::string config;   ///< of our kernel
  double our_error;     ///< relative Frobenius error against float64
  double peer_error;    ///< of cuBLASLt's fastest algorithm
  int peer_algorithms;  ///< of cuBLASLt that ran and were right; 0: it has none for this shape
  int peer_failures;    ///< that it proposed, but that failed or were wrong
  std::optional<TimePair> single;  ///< each by the call of its interface
  std::optional<TimePair> graph;   ///< the same times of ours, whose plan is a graph; cuBLASLt's
                                   ///< call captured in a graph, too
  std::optional<TimePair> queued;
  std::vector<ConfigTime> all_configs;  ///< with config "all", the fastest first

  bool has_peer() const { return peer_algorithms > 0; }
  /// What the tables and the plot show first: single launches, unless only queued ones were timed.
  const TimePair& headline() const { return single ? *single : queued.value(); }
  double our_tflops() const { return shape.flops() / headline().ours.microseconds * 1e-6; }
  double peer_tflops() const { return shape.flops() / headline().peer.microseconds * 1e-6; }
  double ratio() const { return headline().ratio(); }
};

/// What the ways of timing add: an empty kernel's time.
struct EmptyLaunch {
  std::optional<MedianTime> single, graph, queued;
};
EmptyLaunch time_empty_launch(const ContestOptions& options);

/// Makes the inputs of a shape, verifies both against float64 and times them. Throws Error when
/// a result is wrong: a wrong kernel gets no time.
ContestResult hold_contest(const Shape& shape, const ContestOptions& options);

}  // namespace bw
