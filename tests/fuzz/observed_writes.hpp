#pragma once
/// \file
/// Whether observers are notified of all writes: what has changed in memory is compared with the
/// events. The race detector and the check for unwritten memory see writes only through events.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/simulator/machine/observer.hpp"

namespace bw::sim::fuzz {

/// Watches one launch whose clusters run on one host thread. Memory that a write leaves as it was
/// does not count.
class ObservedWrites final : public LaunchObserver {
 public:
  /// For the `size_bytes` of global memory at `address`, and all shared memory.
  ObservedWrites(uint64_t address, size_t size_bytes) : address_(address), global_(size_bytes) {}

  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;

  /// After the launch: what was written unobserved, with its first byte; or nothing.
  [[nodiscard]] std::string unobserved(std::span<const std::byte> before,
                                       std::span<const std::byte> after) const;
  /// How many bytes have changed, observed or not.
  [[nodiscard]] size_t changed(std::span<const std::byte> before,
                               std::span<const std::byte> after) const;

 private:
  class Watch;

  uint64_t address_;
  std::vector<bool> global_;  ///< observed, by byte
  std::string shared_;        ///< unobserved writes to shared memory
  size_t changed_ = 0;        ///< bytes of shared memory
};

}  // namespace bw::sim::fuzz
