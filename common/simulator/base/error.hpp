#pragma once
/// \file
/// The one error type of the simulator: a report that says what happened, where, which rule it
/// breaks and what would fix it.

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/base/event_number.hpp"
#include "common/simulator/base/fault_code.hpp"

namespace bw::sim {

/// The CUDA error of a broken rule, as far as CUDA distinguishes them.
enum class DeviceError {
  launch_failure,         ///< 719: any other error
  illegal_address,        ///< 700: no memory at the address, or no such access allowed
  misaligned_address,     ///< 716
  invalid_address_space,  ///< 717: an address of another state space than the instruction takes
};

/// A line of the reader's source that a report is about, and the threads that executed it.
struct ReportPlace {
  std::string role = {};      ///< what happened there: "the load"; empty where the fault happened
  std::string path = {};      ///< the file, as the compiler named it
  uint32_t line = 0;          ///< counts from 1
  uint32_t column = 0;        ///< counts from 1; 0 is unknown
  std::string function = {};  ///< without namespace, template arguments and parameters
  std::string opcode = {};    ///< the PTX instruction
  std::string kernel = {};    ///< its readable name
  std::optional<std::array<uint32_t, 3>> cta = {};  ///< %ctaid; not for host calls
  std::optional<uint32_t> cta_rank = {};            ///< in a cluster of several CTAs
  std::optional<uint32_t> warp = {};                ///< in the CTA
  uint32_t lanes = 0;                               ///< a bit for each thread of the warp

  /// "ring.cuh:45 in Ring::wait: `mbarrier.try_wait...`, CTA (0,0,0) rank 1, warp 3, lane 0".
  [[nodiscard]] std::string describe() const;
};

/// A fault report. Every text is a plain sentence without a trailing newline.
struct Report {
  Required<FaultCode> code;  ///< the rule that it is about
  std::string what = {};     ///< what happened, with the values involved
  std::string where = {};    ///< reader's file:line, instruction, CTA, warp, lanes
  std::vector<std::string> details =
      {};                 ///< further lines: waiting roles, conflicting accesses, allocations
  std::string rule = {};  ///< the rule that is broken, with its PTX ISA section
  std::string fix = {};   ///< what would fix it
  /// Of a contract violation.
  DeviceError device_error = DeviceError::launch_failure;
  /// Whether BW_SIM_STRICTNESS=hardware accepts what this report refuses; its last line says so.
  bool hardware_accepts = false;
  /// The lines of source that it is about, the faulting one first. The report names the others
  /// below its details, unless a detail begins with their role and a colon or a blank.
  std::vector<ReportPlace> places = {};
  /// The event that the run had reached, if it was a kernel's.
  std::optional<EventNumber> event = {};
  /// The seed of the schedule, if one was chosen: the report then says how to run it again.
  std::optional<uint64_t> seed = {};
  /// Whether the run continues although the code is that of an error.
  bool is_tolerated = false;

  /// What kind of fault it is.
  [[nodiscard]] FaultKind kind() const noexcept { return row_of(code).kind; }
  /// Whether it ends the run.
  [[nodiscard]] Severity severity() const noexcept {
    return is_tolerated ? Severity::warning : row_of(code).severity;
  }
  /// "contract violation BW-B01", or "warning BW-B16".
  [[nodiscard]] std::string title() const;
  /// The report as a paragraph of lines for a terminal.
  [[nodiscard]] std::string format() const;
};

/// For Fault::section: the rule is not the PTX ISA's.
inline constexpr std::string_view kNotFromPtxIsa = "";

/// A violation as the check that finds it describes it; the site (machine/execution.hpp) adds where
/// it happened and the section of the PTX ISA.
struct Fault {
  Required<FaultCode> code;               ///< which rule is broken
  std::string what = {};                  ///< what was given
  std::string rule = {};                  ///< without its source
  std::string fix = {};                   ///< what would fix it
  std::vector<std::string> details = {};  ///< further lines of the report
  /// The PTX ISA section of the rule, if it is not the instruction's own.
  std::optional<std::string_view> section = {};
  DeviceError device_error = DeviceError::launch_failure;  ///< returned by the CUDA runtime
  /// Only the level `isa` refuses it.
  bool hardware_accepts = false;
  /// Further lines of source that it is about, each with its role: the other access of a race.
  std::vector<ReportPlace> places = {};
};

/// Thrown by every layer of the simulator. `what()` is the formatted report.
class SimulationError : public std::runtime_error {
 public:
  /// Carries the report to the launching code.
  explicit SimulationError(Report report);
  [[nodiscard]] const Report& report() const noexcept { return report_; }

 private:
  Report report_;
};

}  // namespace bw::sim
