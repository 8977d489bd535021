#pragma once
/// \file
/// The part of a machine's timing table that the schedule asks for.

#include "common/simulator/schedule/issue_latencies.hpp"

namespace bw::sim {

struct TimingTable;

/// The latencies of a machine.
[[nodiscard]] IssueLatencies issue_latencies(const TimingTable& times);

}  // namespace bw::sim
