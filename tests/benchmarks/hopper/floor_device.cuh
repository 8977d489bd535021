#pragma once
/// \file
/// Device code that the measurements share, and the times that it writes.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"

namespace bw {

constexpr int kRowBytes = 128;  ///< of an operand tile: one K block of e4m3

/// Nanoseconds of the GPU's own wall clock.
__device__ inline uint64_t global_nanoseconds() {
  uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
  return value;
}

/// The first multiple of 1024 bytes at or after `memory`, as the 128B swizzle wants.
__device__ inline uint8_t* align_tile(uint8_t* memory) {
  constexpr uintptr_t kAlignment = 1024;
  return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory) + kAlignment - 1) &
                                    ~(kAlignment - 1));
}

/// Descriptor of an operand tile that begins at a shared-memory address; 16 bytes along K add 1.
__device__ inline uint64_t tile_descriptor(uint32_t address) {
  return wgmma_descriptor(wgmma_descriptor_low(address));
}

/// What a CTA measured of itself.
struct CtaTime {
  uint64_t cycles, nanoseconds;
};

/// The longest that any CTA took.
struct LongestTimes {
  double cycles = 0, nanoseconds = 0;
};
inline LongestTimes longest_times(const std::vector<CtaTime>& times) {
  LongestTimes longest;
  for (const CtaTime& time : times) {
    longest.cycles = std::max(longest.cycles, static_cast<double>(time.cycles));
    longest.nanoseconds = std::max(longest.nanoseconds, static_cast<double>(time.nanoseconds));
  }
  return longest;
}

}  // namespace bw
