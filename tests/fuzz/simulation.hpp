#pragma once
/// \file
/// Runs PTX text on a device of its own and keeps all that can be seen of the run, for targets that
/// compare runs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/settings.hpp"

namespace bw::sim::fuzz {

/// What a run is given. The kernel is the entry `k(.param .u64 memory, .param .align 64 .b8
/// map[128])`: words of global memory, and a tensor map of their beginning.
struct Task {
  std::string text;                   ///< PTX
  LaunchConfiguration configuration;  ///< of the launch
  std::vector<uint32_t> memory;       ///< the words at the beginning
};

/// How a run ended, and the memory that it left.
struct Outcome {
  std::optional<FaultKind> fault;  ///< none: it finished
  std::string report;              ///< of the fault
  Cycle cycles = 0;                ///< that it took
  uint64_t warp_instructions = 0;  ///< that it executed
  /// The words at the end; none of a run that ended in a fault, where it depends on the host's
  /// threads which clusters ran alongside the faulty one.
  std::vector<uint32_t> memory;
  /// What it wrote without notifying observers, if that is checked (observed_writes.hpp).
  std::string unobserved;

  /// Whether nothing differs.
  bool operator==(const Outcome&) const = default;
  /// "finished", or the report.
  [[nodiscard]] std::string describe() const { return fault ? report : "finished"; }
};

/// Few SMs, little memory, and an end to kernels that would run on.
[[nodiscard]] Settings short_settings();

/// Runs a task on a new device. Any exception other than a SimulationError passes. With
/// `explored_states`, every order of its synchronisation is tried, up to this many states.
[[nodiscard]] Outcome simulate(const Task& task, const Settings& settings,
                               uint64_t explored_states = 0);
/// The same, on one host thread; also looks for writes without a notification, and counts
/// the bytes that have changed.
[[nodiscard]] Outcome simulate_observed(const Task& task, const Settings& settings,
                                        size_t* changed_bytes = nullptr);

}  // namespace bw::sim::fuzz
