#pragma once
/// \file
/// Drives out of L2 what was touched before.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"

namespace bw::timing {

/// Memory that is larger than any L2, to be overwritten.
class L2Flush {
 public:
  L2Flush() : memory_(kBytes) {}
  /// Enqueues it on the default stream.
  void run() const {
    check_cuda(cudaMemsetAsync(memory_.data(), 0, kBytes, nullptr), "drive everything out of L2");
  }

 private:
  static constexpr size_t kBytes = size_t{256} << 20;
  mutable DeviceBuffer<uint8_t> memory_;
};

}  // namespace bw::timing
