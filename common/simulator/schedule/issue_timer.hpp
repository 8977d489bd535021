#pragma once
/// \file
/// Issue times of instructions that are in issue order: distances, pipes, branches, and the
/// scoreboards that count loads.

#include <vector>

#include "common/simulator/schedule/issue_nodes.hpp"
#include "common/simulator/schedule/register_pressure.hpp"
#include "common/simulator/schedule/static_schedule.hpp"

namespace bw::sim {

/// One for each node; `pressure` was computed in text order, which blocks keep.
[[nodiscard]] std::vector<IssueTimes> issue_times(const IssueNodes& in,
                                                  const RegisterPressure& pressure);

}  // namespace bw::sim
