#include "common/simulator/schedule/static_schedule.hpp"

#include "common/simulator/schedule/issue_nodes.hpp"
#include "common/simulator/schedule/passes.hpp"
#include "common/simulator/schedule/register_pressure.hpp"

namespace bw::sim {

std::vector<IssueTimes> schedule(ptx::Function& function, const IssueLatencies& latencies) {
  if (function.instructions.empty()) return {};
  IssueNodes nodes(function, latencies);
  const RegisterPressure pressure(nodes);
  nodes.reorder(issue_order(nodes, pressure));
  std::vector<IssueTimes> result = issue_times(nodes, pressure);
  place_code(nodes.graph(), result);
  return result;
}

}  // namespace bw::sim
