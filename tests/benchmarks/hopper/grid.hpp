#pragma once
/// \file
/// The whole grid of shapes that an inference engine runs: rows from one token to a long prompt, on
/// the weight matrices of a large mixture-of-experts model. Device time alone, warm and cold.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/benchmarks/hopper/contest.hpp"

namespace bw {

/// Device times of one contestant, in microseconds.
struct WarmAndCold {
  double warm, cold;
};

/// What was measured for a shape.
struct GridResult {
  Shape shape;
  std::string config;  ///< of ours
  WarmAndCold ours;
  std::optional<WarmAndCold> cublaslt;  ///< none where it has no algorithm
  /// With config "all": of every configuration.
  std::vector<std::pair<std::string, WarmAndCold>> configs;
};

/// A weight matrix [n, k], and the numbers of rows that are multiplied with it.
struct GridMatrix {
  int64_t n, k;
  std::vector<int64_t> rows;
};

/// The grid itself: 6 matrices × 13 numbers of rows.
const std::vector<GridMatrix>& standard_grid();

/// A list of shapes as a grid: those with the same matrix together, in the order of the first.
std::vector<GridMatrix> grid_of(const std::vector<Shape>& shapes);

/// Verifies and times every shape of `matrix`, and calls `report` with each result. A is made once,
/// for the most rows. Throws Error where a result is wrong.
void measure_matrix(const GridMatrix& matrix, const ContestOptions& options,
                    const std::function<void(const GridResult&)>& report);

}  // namespace bw
