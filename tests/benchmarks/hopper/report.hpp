#pragma once
/// \file
/// What the benchmark prints and writes: the floor, the comparison, and the limit of each shape.

#include <string>
#include <vector>

#include "tests/benchmarks/hopper/contest.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/machine_info.hpp"

namespace bw {

/// All that a comparison measured.
struct Results {
  std::vector<ContestResult> shapes;  ///< all timed in the same ways
  EmptyLaunch empty;
  Floor floor;  ///< may be without measurements
  MachineInfo machine;
};

/// Which of a result's comparisons; null where it wasn't timed so.
using Method = const TimePair* (*)(const ContestResult&);
inline const TimePair* single_launches(const ContestResult& result) {
  return result.single ? &*result.single : nullptr;
}
inline const TimePair* graph_launches(const ContestResult& result) {
  return result.graph ? &*result.graph : nullptr;
}
inline const TimePair* queued_launches(const ContestResult& result) {
  return result.queued ? &*result.queued : nullptr;
}

/// Geometric mean of the ratios of the shapes that have a peer; 0 when none has.
double geometric_mean(const std::vector<ContestResult>& results, Method method);

/// Markdown: the floor's tables.
std::string floor_markdown(const Floor& floor);

/// One line: an empty kernel's time.
std::string empty_launch_text(const EmptyLaunch& empty);

/// Markdown: the machine's line, the table of results, the means.
std::string results_markdown(const Results& results);

/// One line for each shape, the machine in each.
std::string results_csv(const Results& results);

/// The ratios as bars, as SVG.
std::string results_chart(const Results& results);

}  // namespace bw
