#pragma once
/// \file
/// The order in which ptxas would issue a function's instructions.

#include <cstdint>
#include <vector>

#include "common/simulator/schedule/issue_nodes.hpp"
#include "common/simulator/schedule/register_pressure.hpp"

namespace bw::sim {

/// The old index of each position. Within stretches that code may not leave, a list scheduler:
/// longest path first, in-order issue, loads as early as registers allow.
[[nodiscard]] std::vector<uint32_t> issue_order(const IssueNodes& in,
                                                const RegisterPressure& pressure);

}  // namespace bw::sim
