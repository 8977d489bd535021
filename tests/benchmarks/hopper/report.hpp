#pragma once
/// \file
/// What the benchmark prints and writes: the floor, the comparison, and the limit of each shape.

#include <string>
#include <vector>

#include "tests/benchmarks/hopper/contest.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/machine_info.hpp"

namespace bw {

/// Geometric mean of the ratios of the shapes that have a peer; 0 when none has.
double geometric_mean(const std::vector<ContestResult>& results);

/// Markdown: the floor's tables.
std::string floor_markdown(const Floor& floor);

/// Markdown: the machine's line and the table of results.
std::string results_markdown(const std::vector<ContestResult>& results, const Floor& floor,
                             const MachineInfo& machine);

/// One line for each shape, the machine in each.
std::string results_csv(const std::vector<ContestResult>& results, const Floor& floor,
                        const MachineInfo& machine);

/// The ratios as bars.
std::string results_chart(const std::vector<ContestResult>& results, const MachineInfo& machine);

}  // namespace bw
