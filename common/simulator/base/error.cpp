#include "common/simulator/base/error.hpp"

#include <utility>

namespace bw::sim {

const char* fault_kind_name(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::parse:
      return "PTX error";
    case FaultKind::unsupported:
      return "unsupported";
    case FaultKind::launch:
      return "launch error";
    case FaultKind::contract:
      return "contract violation";
    case FaultKind::deadlock:
      return "deadlock";
    case FaultKind::livelock:
      return "livelock";
    case FaultKind::trap:
      return "trap";
  }
  return "fault";
}

std::string Report::format() const {
  std::string text = std::string("simulator: ") + fault_kind_name(kind) + ": " + what;
  if (!where.empty()) text += "\n  where: " + where;
  for (const std::string& line : details) text += "\n  " + line;
  if (!rule.empty()) text += "\n  rule:  " + rule;
  if (!fix.empty()) text += "\n  fix:   " + fix;
  if (hardware_accepts)
    text +=
        "\n  level: isa, the PTX ISA's words; with BW_SIM_STRICTNESS=hardware the simulator "
        "accepts "
        "this, as hardware does";
  return text;
}

SimulationError::SimulationError(Report report)
    : std::runtime_error(report.format()), report_(std::move(report)) {}

}  // namespace bw::sim
