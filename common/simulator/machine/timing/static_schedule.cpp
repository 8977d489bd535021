#include "common/simulator/machine/timing/static_schedule.hpp"

#include "common/simulator/machine/timing/code_layout.hpp"
#include "common/simulator/machine/timing/issue_nodes.hpp"
#include "common/simulator/machine/timing/issue_order.hpp"
#include "common/simulator/machine/timing/issue_timer.hpp"
#include "common/simulator/machine/timing/register_pressure.hpp"

namespace bw::sim {

std::vector<IssueTimes> schedule(ptx::Function& function, const TimingTable& times) {
  if (function.instructions.empty()) return {};
  IssueNodes nodes(function, times);
  const RegisterPressure pressure(nodes);
  nodes.reorder(issue_order(nodes, pressure));
  std::vector<IssueTimes> result = issue_times(nodes, pressure);
  place_code(nodes.graph(), result);
  return result;
}

}  // namespace bw::sim
