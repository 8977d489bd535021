#pragma once
/// \file
/// What the programs of this folder share: each is a function with a name, most in pairs of which
/// one is right and the other, `<name>_racy` or `<name>_faulty`, is not. A line that a report of
/// the wrong one must name ends with `// expect: <name of the case> <code>`; a report may
/// name no other line of this folder for its two accesses.

#include <cuda_runtime.h>

#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"

namespace bw::global_races {

/// One program.
struct Case {
  const char* name = "";     ///< as the command line gives it
  void (*run)() = nullptr;   ///< allocates, launches and waits
  const char* setting = "";  ///< what has to be in the environment for it: "NAME=value"
};

std::vector<Case> irregular_cases();  ///< graph kernels (irregular.cu)
std::vector<Case> scoped_cases();     ///< locks, flags and counters by scope (scoped.cu)
std::vector<Case> memory_cases();     ///< bounds, initialisation, barriers (memory.cu)
std::vector<Case> ordered_cases();  ///< grids, streams, clusters, asynchronous copies (ordered.cu)

/// Waits for the kernels of a case.
inline void finish(const char* name) {
  check_cuda(cudaGetLastError(), "launch ", name);
  check_cuda(cudaDeviceSynchronize(), "run ", name);
}

}  // namespace bw::global_races
