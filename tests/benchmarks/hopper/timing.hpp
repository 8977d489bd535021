#pragma once
/// \file
/// Two ways to time launches, both on the device's clock.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/host/device_buffer.hpp"

namespace bw {

/// Times of one contestant's launches, in microseconds.
class Times {
 public:
  explicit Times(std::vector<double> microseconds);

  double median() const { return quantile(0.5); }
  /// The distance between the first and last tenths, as a share of the median.
  double spread() const { return (quantile(0.9) - quantile(0.1)) / median(); }
  double shortest() const { return sorted_.front(); }

 private:
  double quantile(double share) const;
  std::vector<double> sorted_;
};

/// Something that enqueues one launch on the default stream.
using Launch = std::function<void()>;

/// Lets the device rest for 0.2 s, so that every contestant starts from the same temperature and
/// clock, runs `contestant` `warm_ups` times, then `repeats` times alone: an event is recorded, the
/// launch made, another event recorded, and the host waits. What the host does between the events
/// counts as far as the device waits for it.
Times time_single_launches(const Launch& contestant, int warm_ups, int repeats);

/// Memory larger than the L2 cache. Filling it leaves nothing else there.
class CacheFlush {
 public:
  CacheFlush() : memory_(kBytes) {}
  /// On the default stream.
  void enqueue() { memory_.fill_bytes(kByte); }

 private:
  static constexpr size_t kBytes = size_t{256} << 20;
  static constexpr int kByte = 0;
  DeviceBuffer<uint8_t> memory_;
};

/// Device time only: runs every contestant `warm_ups` times, then `repeats` rounds in which each of
/// them is launched once, in turn, so that all see the same clocks and temperatures, each round
/// beginning with the next one. Each launch is alone between two events, queued after a kernel
/// that only waits, so that the host's part of a launch isn't measured; with `flush` the L2 cache
/// is flushed before each.
std::vector<Times> time_queued_launches(const std::vector<Launch>& contestants, int warm_ups,
                                        int repeats, CacheFlush* flush = nullptr);

/// Enqueues a kernel that does nothing, on one thread: what each method adds.
void launch_empty(cudaStream_t stream);

}  // namespace bw
