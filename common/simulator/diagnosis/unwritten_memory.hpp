#pragma once
/// \file
/// Reads of device memory that neither the host nor a kernel has written (BW_SIM_MEMORY_CHECKS).

#include <memory>

#include "common/simulator/diagnosis/written_bytes.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim {

/// Knows what was written, and ends a launch at the first read of bytes that were not. The launch's
/// clusters run on one host thread.
class UnwrittenMemory final : public LaunchObserver {
 public:
  /// For the host to say what it allocates, frees, writes and copies. Memory that it is not told of
  /// (variables, parameters, memory that the host shares) counts as written.
  [[nodiscard]] WrittenBytes& bytes() { return bytes_; }

  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;

 private:
  WrittenBytes bytes_;
};

}  // namespace bw::sim
