#pragma once
/// \file
/// Whether observers are told of all that is written: what has changed in memory is compared with
/// the events. The race detector and the check for unwritten memory know of writes by events alone.

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
class ToldWrites final : public LaunchObserver {
 public:
  /// For the `size_bytes` of global memory at `address`, and all shared memory.
  ToldWrites(uint64_t address, size_t size_bytes) : address_(address), global_(size_bytes) {}

  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;

  /// Behind the launch: what was written and not told, with its first byte; or nothing.
  [[nodiscard]] std::string untold(std::span<const std::byte> before,
                                   std::span<const std::byte> after) const;
  /// How many bytes have changed, told or not.
  [[nodiscard]] size_t changed(std::span<const std::byte> before,
                               std::span<const std::byte> after) const;

 private:
  class Watch;

  uint64_t address_;
  std::vector<bool> global_;  ///< told, by byte
  std::string shared_;        ///< untold in shared memory
  size_t changed_ = 0;        ///< bytes of shared memory
};

}  // namespace bw::sim::fuzz
