#pragma once
/// \file
/// The latencies that ptxas orders instructions by: what the schedule asks of a machine.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/simulator/isa/cost.hpp"

namespace bw::sim {

/// How long a pipe takes.
struct PipeTimes {
  uint32_t latency = 1;   ///< cycles from issue until a result can be used
  uint32_t interval = 1;  ///< cycles until the next instruction of a warp
  uint32_t busy = 1;      ///< cycles of these that other warps cannot have it
};

/// A machine's latencies, in cycles. clock/issue_latencies.hpp fills them from its table.
struct IssueLatencies {
  std::array<PipeTimes, kPipeCount> pipes;  ///< by Pipe
  uint32_t other_pipe = 0;                  ///< more, when another pipe uses a result of arithmetic
  uint32_t shared_load = 0;                 ///< that ptxas plans for a load from shared memory
  uint32_t device_load = 0;                 ///< that ptxas plans for a load from device memory
  uint32_t branch_guard = 0;                ///< from a comparison to the branch that it decides
  uint32_t branch_taken = 0;                ///< from a branch to the instruction at its target
  uint32_t branch_passed = 0;  ///< from a branch that is not taken to the next instruction
  uint32_t copy_operands = 0;  ///< that a copy's operands take on their way to the copy engine
  uint32_t copy_prepare = 0;   ///< that each thread takes to issue a copy, where several might
  uint32_t copy_elected = 0;   ///< from one copy of an elected lane to its next, beyond the issue

  /// The times of one pipe.
  [[nodiscard]] const PipeTimes& of(Pipe pipe) const { return pipes[static_cast<size_t>(pipe)]; }
};

}  // namespace bw::sim
