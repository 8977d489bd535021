#pragma once
/// \file
/// Division by a number that is known before the launch.

#include <cstdint>

#include "common/device/host_device.cuh"

namespace bw {

/// A divisor from 1 to 2^31, made on the host. Dividing by it is a multiplication and a shift; GPUs
/// have no instruction for division; its replacement takes more than 100 cycles.
///
/// n / d = floor(n · m / 2^(31+s)) with s = ceil(log2 d) and m = ceil(2^(31+s) / d), which is
/// between 2^31 and 2^32: the excess of m, times n < 2^31, stays below 2^(31+s) / d.
class FastDivisor {
 public:
  constexpr FastDivisor() = default;
  /// Prepares the division by `divisor`, from 1 to 2^31.
  constexpr explicit FastDivisor(uint32_t divisor) : divisor_(divisor) {
    while ((uint64_t{1} << shift_) < divisor) ++shift_;
    multiplier_ = static_cast<uint32_t>(((uint64_t{1} << (31 + shift_)) + divisor - 1) / divisor);
  }

  /// n / divisor, for n below 2^31.
  BW_HOST_DEVICE constexpr uint32_t quotient(uint32_t n) const {
    return static_cast<uint32_t>(uint64_t{2 * n} * multiplier_ >> 32) >> shift_;
  }
  /// What is divided by.
  BW_HOST_DEVICE constexpr uint32_t divisor() const { return divisor_; }

 private:
  uint32_t divisor_ = 1;
  uint32_t multiplier_ = uint32_t{1} << 31;
  uint32_t shift_ = 0;
};

}  // namespace bw
