#pragma once
/// \file
/// Breakdown of a warp's time.

#include <cstdint>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// Breakdown of a warp's time; slots, and stalls for them and for queues, only with a timing model.
struct WarpTimes {
  uint64_t instructions = 0;      ///< executed, of the PTX text
  uint64_t issued = 0;            ///< machine instructions, as the schedule counts them
  uint64_t issue_slots = 0;       ///< taken from its scheduler: more where a pipe is busy longer
  Cycle issue_stalls = 0;         ///< cycles waited for issue slots
  Cycle shared_stalls = 0;        ///< for values from shared memory
  Cycle global_stalls = 0;        ///< for values from device memory
  Cycle shared_queue_stalls = 0;  ///< for a slot in the queue of accesses to shared memory
  Cycle global_queue_stalls = 0;  ///< likewise for device memory
  Cycle ended = 0;                ///< when its last lane has exited
};

}  // namespace bw::sim
