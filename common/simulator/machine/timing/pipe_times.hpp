#pragma once
/// \file
/// How long a machine's pipes take.

#include <cstdint>

#include "common/simulator/isa/cost.hpp"

namespace bw::sim {

struct TimingTable;

/// How long a pipe takes.
struct PipeTimes {
  uint32_t latency = 1;   ///< cycles from issue until a result can be used
  uint32_t interval = 1;  ///< cycles until the next instruction of a warp
  uint32_t busy = 1;      ///< cycles of these that other warps cannot have it
};
/// Of a machine.
[[nodiscard]] PipeTimes pipe_times(const TimingTable& times, Pipe pipe);

}  // namespace bw::sim
