#pragma once
/// \file
/// Chapter 6's GEMM in the simulator, in a process of its own: a process has one simulated machine.

#include <sys/types.h>

namespace bw::bench {

/// A child process that runs the GEMM when it is asked to. To be made before the own process uses
/// the CUDA runtime. Throws std::runtime_error where the child can't be started or has failed.
class SimulatedHopperGemm {
 public:
  /// m = n = k = `size`, by the kernel of that configuration.
  SimulatedHopperGemm(int size, const char* configuration);
  ~SimulatedHopperGemm();
  SimulatedHopperGemm(const SimulatedHopperGemm&) = delete;
  SimulatedHopperGemm& operator=(const SimulatedHopperGemm&) = delete;

  /// Runs it once; returns when it has ended.
  void run() const;

 private:
  pid_t child_ = -1;
  int requests_ = -1, answers_ = -1;  ///< pipes to and from the child
};

}  // namespace bw::bench
