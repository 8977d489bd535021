#pragma once
/// \file
/// The latencies by which ptxas orders instructions, as the schedule reads them from a machine.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/simulator/isa/cost.hpp"

namespace bw::sim {

/// Times of a pipe.
struct PipeTimes {
  uint32_t latency = 1;   ///< cycles from issue until a result can be used
  uint32_t interval = 1;  ///< cycles until the next instruction of a warp
  uint32_t busy = 1;      ///< of these cycles, those in which other warps cannot use it
};

/// A machine's latencies, in cycles. clock/issue_latencies.hpp fills them from its table.
struct IssueLatencies {
  std::array<PipeTimes, kPipeCount> pipes;  ///< by Pipe
  uint32_t other_pipe = 0;     ///< extra, when another pipe uses a result of arithmetic
  uint32_t shared_load = 0;    ///< that ptxas plans for a load from shared memory
  uint32_t device_load = 0;    ///< that ptxas plans for a load from device memory
  uint32_t branch_guard = 0;   ///< from a comparison to the branch that it decides
  uint32_t branch_taken = 0;   ///< from a branch to the instruction at its target
  uint32_t branch_passed = 0;  ///< from a branch that is not taken to the next instruction
  uint32_t copy_operands = 0;  ///< transfer of a copy's operands to the copy engine
  uint32_t copy_prepare = 0;   ///< per thread that issues a copy, where several might

  /// The times of one pipe.
  [[nodiscard]] const PipeTimes& of(Pipe pipe) const { return pipes[static_cast<size_t>(pipe)]; }
};

}  // namespace bw::sim
