#pragma once
/// \file
/// Rounding and alignment of sizes and addresses; pseudo-random bits.

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace bw::sim {

/// The least number of `divisor`s that hold `value`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T ceil_div(T value, std::type_identity_t<T> divisor) {
  return static_cast<T>((value + divisor - 1) / divisor);
}

/// `value` rounded up to a multiple of `alignment`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T align_up(T value, std::type_identity_t<T> alignment) {
  return static_cast<T>(ceil_div(value, alignment) * alignment);
}

/// Whether `value` is a multiple of `alignment`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool is_aligned(T value, std::type_identity_t<T> alignment) {
  return value % alignment == 0;
}

/// A pseudo-random number (Steele, Lea and Flood's finalizer of SplitMix).
[[nodiscard]] constexpr uint64_t scatter(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace bw::sim
