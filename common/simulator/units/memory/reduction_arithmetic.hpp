#pragma once
/// \file
/// Arithmetic that atom, red and the bulk reductions have in common. (Where they differ on floating
/// point, in NaN, zeros and flushing, each has its own: atomic_operation.cpp,
/// element_reduction.cpp.)

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace bw::sim {

/// a + b of integers; overflow wraps.
template <class T>
[[nodiscard]] constexpr T wrapping_sum(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

/// inc: old >= limit ? 0 : old + 1
template <class T>
[[nodiscard]] constexpr T increment_within(T old, T limit) {
  return old >= limit ? T{0} : static_cast<T>(old + 1);
}

/// dec: old == 0 or old > limit ? limit : old - 1
template <class T>
[[nodiscard]] constexpr T decrement_within(T old, T limit) {
  return old == 0 || old > limit ? limit : static_cast<T>(old - 1);
}

/// A subnormal becomes a zero of its sign.
[[nodiscard]] inline float flush_subnormal(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// The bits of a result; every NaN is the canonical one.
[[nodiscard]] inline uint32_t canonical_bits(float value) {
  constexpr uint32_t kNan = 0x7fffffffu;
  return std::isnan(value) ? kNan : std::bit_cast<uint32_t>(value);
}

}  // namespace bw::sim
