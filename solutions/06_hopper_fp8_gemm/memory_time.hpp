#pragma once
/// \file
/// How long memory takes to bring what a choice of a kernel can't change.

namespace bw::hopper {

/// Microseconds for `bytes` of B: from the L2 cache where they stay there from launch to launch,
/// else from device memory. Rates of an H100.
constexpr double time_to_read_b(double bytes) {
  constexpr double kL2Bytes = 45e6;  // of the H100's 50 MB, what one matrix can count on
  constexpr double kMemoryBytes = 2.95e6, kL2BytesRead = 5.0e6;  // in a microsecond
  return bytes / (bytes < kL2Bytes ? kL2BytesRead : kMemoryBytes);
}

}  // namespace bw::hopper
