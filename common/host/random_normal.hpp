#pragma once
/// \file
/// Normal random numbers that depend on a seed and a position only.

#include <cmath>
#include <cstdint>
#include <numbers>

namespace bw {

/// Standard normal numbers, one per 64-bit position: the same on every machine and with any
/// number of threads. Distinct `stream`s of a seed are independent.
class RandomNormal {
 public:
  /// The numbers of this seed and stream.
  RandomNormal(uint64_t seed, uint64_t stream) : key_(mix(mix(seed) + stream)) {}

  /// The number at `position`, by the Box–Muller transform of two uniform ones.
  float operator()(uint64_t position) const {
    const uint64_t bits = mix(key_ ^ mix(position));
    constexpr double kUnit = 0x1p-32;
    const double radius_uniform = (static_cast<double>(bits >> 32) + 0.5) * kUnit;  // in (0, 1)
    const double angle_uniform = static_cast<double>(bits & 0xffffffffu) * kUnit;
    return static_cast<float>(std::sqrt(-2.0 * std::log(radius_uniform)) *
                              std::cos(2.0 * std::numbers::pi * angle_uniform));
  }

 private:
  /// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
  static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }

  uint64_t key_;
};

}  // namespace bw
