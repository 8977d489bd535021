#include "common/simulator/base/error.hpp"

#include <bit>
#include <utility>

#include "common/simulator/base/report_text.hpp"
#include "common/simulator/base/text.hpp"

namespace bw::sim {

std::string ReportPlace::describe() const {
  std::string text = path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
  if (!function.empty()) text += " in " + function;
  if (!opcode.empty()) text += ": `" + opcode + "`";
  if (cta)
    text += ", CTA (" + std::to_string((*cta)[0]) + "," + std::to_string((*cta)[1]) + "," +
            std::to_string((*cta)[2]) + ")";
  if (cta_rank) text += " rank " + std::to_string(*cta_rank);
  if (warp) text += ", warp " + std::to_string(*warp);
  constexpr uint32_t kAll = ~0u;
  if (std::popcount(lanes) == 1)
    text += ", lane " + std::to_string(std::countr_zero(lanes));
  else if (lanes != 0 && lanes != kAll)
    text += ", lanes " + hex_mask(lanes);
  return text;
}

std::string Report::title() const {
  const FaultCodeRow& row = row_of(code);
  const char* const name = severity() == Severity::warning ? severity_name(Severity::warning)
                                                           : fault_kind_name(row.kind);
  return std::string(name) + " " + std::string(row.id);
}

std::string Report::format() const { return present(*this, {}); }

SimulationError::SimulationError(Report report)
    : std::runtime_error(report.format()), report_(std::move(report)) {}

}  // namespace bw::sim
