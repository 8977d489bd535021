#pragma once
/// \file
/// The codes by which readers look up reports, and tests and scripts recognise them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bw::sim {

/// What kind of fault a report describes. Tests and the runtime's error codes depend on it.
enum class FaultKind : uint8_t {
  parse,        ///< the PTX text is malformed or cut off
  unsupported,  ///< a known or unknown instruction, directive or API that the simulator does not
                ///< execute
  launch,       ///< the launch configuration cannot run (resources, limits, arguments)
  call,         ///< a call of the runtime or the driver that returns an error
  contract,     ///< a rule of the PTX ISA is broken (bounds, alignment, state, descriptors)
  deadlock,     ///< no thread can run and nothing is in flight
  livelock,     ///< threads run without any change of state
  trap,         ///< trap, brkpt or a failed device-side assert
};

/// The name of a kind as it is printed: "contract violation", "deadlock", ...
[[nodiscard]] const char* fault_kind_name(FaultKind kind) noexcept;

/// Whether a report ends the run.
enum class Severity : uint8_t {
  error,    ///< it does
  warning,  ///< the run continues, and its result may be right
};

/// "error" or "warning".
[[nodiscard]] const char* severity_name(Severity severity) noexcept;

/// A rule that can be broken: one row of base/fault_codes.inc.
enum class FaultCode : uint8_t {
/// A row of the table: here its enumerator.
#define BW_FAULT_CODE(number, name, kind, severity, title, sentence) name,
#include "common/simulator/base/fault_codes.inc"
#undef BW_FAULT_CODE
};

/// A mandatory member: an initialiser that omits it does not compile.
template <class T>
class Required {
 public:
  /// Converts from the value.
  constexpr Required(T value) noexcept : value_(value) {}
  constexpr operator T() const noexcept { return value_; }

 private:
  T value_;
};

/// A code's row in the table.
struct FaultCodeRow {
  FaultCode code;             ///< which one
  std::string_view id;        ///< "BW-B01"
  FaultKind kind;             ///< of its reports
  Severity severity;          ///< of its reports, at the level `isa`
  std::string_view title;     ///< a few words
  std::string_view sentence;  ///< the rule that was broken, in one sentence
};

/// All codes, by subject and number.
[[nodiscard]] std::span<const FaultCodeRow> fault_codes() noexcept;

/// The row of a code.
[[nodiscard]] const FaultCodeRow& row_of(FaultCode code) noexcept;

}  // namespace bw::sim
