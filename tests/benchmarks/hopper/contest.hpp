#pragma once
/// \file
/// One shape's comparison: our kernel against cuBLASLt, verified before anything is timed.

#include <string>
#include <vector>

#include "tests/benchmarks/hopper/shapes.hpp"

namespace bw {

/// How a comparison is made.
struct ContestOptions {
  double beta = 0;
  std::string config = "auto";  ///< a name, "auto" (the host API's choice) or "all" (the fastest)
  int warm_ups = 5;
  int repeats = 30;
  int algorithms = 16;  ///< of cuBLASLt's heuristic, at most
  uint64_t seed = 1;
};

/// A configuration's time in a tuning run.
struct ConfigTime {
  std::string name;
  double microseconds;
};

/// What came out for a shape. Times are medians in microseconds.
struct ContestResult {
  Shape shape;
  double beta;
  std::string config;  ///< of our kernel
  double our_time, our_spread;
  double our_error;     ///< relative Frobenius error against float64
  int peer_algorithms;  ///< of cuBLASLt that ran and were right; 0: it has none for this shape
  int peer_failures;    ///< that it proposed, but that failed or were wrong
  int peer_algorithm;   ///< the fastest, by its place in the heuristic's list
  double peer_time, peer_spread;
  double peer_error;
  std::vector<ConfigTime> all_configs;  ///< with config "all", the fastest first

  bool has_peer() const { return peer_algorithms > 0; }
  double our_tflops() const { return shape.flops() / our_time * 1e-6; }
  double peer_tflops() const { return shape.flops() / peer_time * 1e-6; }
  double ratio() const { return peer_time / our_time; }  ///< above 1: ours is faster
};

/// Makes the inputs of a shape, verifies both against float64 and times them in turn. Throws Error
/// when a result is wrong: a wrong kernel gets no time.
ContestResult hold_contest(const Shape& shape, const ContestOptions& options);

}  // namespace bw
