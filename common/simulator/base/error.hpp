#pragma once
/// \file
/// The one error type of the simulator: a report that says what happened, where, which rule it
/// breaks and what would fix it.

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bw::sim {

/// What kind of fault a report describes. Tests and the runtime's error codes depend on it.
enum class FaultKind {
  parse,        ///< the PTX text is malformed or cut off
  unsupported,  ///< a known or unknown instruction, directive or API that the simulator does not
                ///< execute
  launch,       ///< the launch configuration cannot run (resources, limits, arguments)
  contract,     ///< a rule of the PTX ISA is broken (bounds, alignment, state, descriptors)
  deadlock,     ///< no thread can run and nothing is in flight
  livelock,     ///< threads run without any change of state
  trap,         ///< trap, brkpt or a failed device-side assert
};

/// Why a launch is refused, as far as callers tell the reasons apart.
enum class LaunchCause {
  configuration,  ///< the extents of grid or block, arguments, anything else
  cluster,        ///< the cluster's extents
  shared_memory,  ///< more than a CTA or the kernel may have
  resources,      ///< no CTA fits on an SM
  cooperative,    ///< not all CTAs of a cooperative launch fit at once
};

/// Which of CUDA's errors a broken rule is, as far as CUDA tells them apart.
enum class DeviceError {
  launch_failure,         ///< 719: everything that is none of the others
  illegal_address,        ///< 700: no memory at the address, or none that may be accessed so
  misaligned_address,     ///< 716
  invalid_address_space,  ///< 717: an address of another state space than the instruction takes
};

/// A fault report. Every text is a plain sentence without a trailing newline.
struct Report {
  FaultKind kind = FaultKind::contract;  ///< which one it is
  std::string what;                      ///< what happened, with the values involved
  std::string where;                     ///< reader's file:line, instruction, CTA, warp, lanes
  std::vector<std::string>
      details;       ///< further lines: waiting roles, conflicting accesses, allocations
  std::string rule;  ///< the rule that is broken, with its PTX ISA section
  std::string fix;   ///< what would fix it
  LaunchCause cause = LaunchCause::configuration;  ///< of a launch error
  /// Of a contract violation.
  DeviceError device_error = DeviceError::launch_failure;
  /// Whether BW_SIM_STRICTNESS=hardware accepts what this report refuses; its last line says so.
  bool hardware_accepts = false;

  /// The report as a paragraph of lines for a terminal.
  [[nodiscard]] std::string format() const;
};

/// For Fault::section: the rule is not the PTX ISA's.
inline constexpr std::string_view kNotFromPtxIsa = "";

/// What is wrong, as the place that finds it says it; the site (machine/execution.hpp) adds where
/// it happened and the section of the PTX ISA.
struct Fault {
  FaultKind kind = FaultKind::contract;   ///< which one it is
  std::string what;                       ///< what was given
  std::string rule;                       ///< without its source
  std::string fix = {};                   ///< what would mend it
  std::vector<std::string> details = {};  ///< further lines of the report
  /// The PTX ISA section that says the rule, where it is another than the instruction's own.
  std::optional<std::string_view> section = {};
  DeviceError device_error = DeviceError::launch_failure;  ///< what the CUDA runtime answers
  /// Only the level `isa` refuses it.
  bool hardware_accepts = false;
};

/// Thrown by every layer of the simulator. `what()` is the formatted report.
class SimulationError : public std::runtime_error {
 public:
  /// Carries the report to who launched.
  explicit SimulationError(Report report);
  /// What happened.
  [[nodiscard]] const Report& report() const noexcept { return report_; }

 private:
  Report report_;
};

/// The name of a kind as it is printed: "contract violation", "deadlock", ...
[[nodiscard]] const char* fault_kind_name(FaultKind kind) noexcept;

}  // namespace bw::sim
