#include "common/simulator/base/fault_code.hpp"

namespace bw::sim {
namespace {

constexpr FaultCodeRow kRows[] = {
#define BW_FAULT_CODE(number, name, kind, severity, title, sentence) \
  {FaultCode::name, "BW-" #number, FaultKind::kind, Severity::severity, title, sentence},
#include "common/simulator/base/fault_codes.inc"
#undef BW_FAULT_CODE
};

}  // namespace

const char* fault_kind_name(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::parse:
      return "PTX error";
    case FaultKind::unsupported:
      return "unsupported";
    case FaultKind::launch:
      return "launch error";
    case FaultKind::call:
      return "call error";
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

const char* severity_name(Severity severity) noexcept {
  return severity == Severity::warning ? "warning" : "error";
}

std::span<const FaultCodeRow> fault_codes() noexcept { return kRows; }

const FaultCodeRow& row_of(FaultCode code) noexcept { return kRows[static_cast<size_t>(code)]; }

}  // namespace bw::sim
