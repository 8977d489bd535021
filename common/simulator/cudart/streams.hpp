#pragma once
/// \file
/// Streams and events. Work runs in order and at once, so a stream only carries its attributes and
/// an event the simulated time at which it was recorded.

#include <driver_types.h>

#include <cstdint>

#include "common/simulator/machine/types.hpp"

// The runtime's headers declare these two structures without defining them.
struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
};

struct CUevent_st {
  unsigned flags = 0;
  bool recorded = false;
  bw::sim::Cycle time = 0;
};

namespace bw::sim::cudart {

/// Whether a handle names a live stream; the default streams (0, 1, 2) always do.
[[nodiscard]] bool is_stream(cudaStream_t stream);

/// Priorities of streams, numerically (lower runs first).
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

}  // namespace bw::sim::cudart
