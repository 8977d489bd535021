#pragma once
/// \file
/// What all f32 and f64 operations share: flushing of subnormals, saturation, the canonical NaN.

#include <bit>
#include <cstdint>
#include <type_traits>

namespace bw::sim::floating {

/// The NaN that f32 instructions produce (PTX ISA, "Floating Point Instructions").
inline constexpr uint32_t kCanonicalNanF32 = 0x7fffffffu;
inline constexpr uint32_t kSignF32 = 0x80000000u;      ///< the sign's bit
inline constexpr uint32_t kExponentF32 = 0x7f800000u;  ///< the exponent's bits

/// The NaN that instructions give.
[[nodiscard]] inline float canonical_nan() { return std::bit_cast<float>(kCanonicalNanF32); }

/// Subnormal f32 values become zero of the same sign (.ftz).
[[nodiscard]] inline float flush_subnormal(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits & kExponentF32) == 0 ? bits & kSignF32 : bits);
}

/// .sat: into [+0, 1], NaN becomes +0.
template <class T>
[[nodiscard]] T saturate(T value) {
  const T low = value > T{0} ? value : T{0};
  return low < T{1} ? low : T{1};
}

/// Flushes a subnormal where the form says so.
template <bool with_ftz, class T>
[[nodiscard]] T input(T value) {
  if constexpr (with_ftz && std::is_same_v<T, float>) {
    return flush_subnormal(value);
  } else {
    return value;
  }
}

/// Flushes, canonicalises (f32 only: f64 keeps NaN payloads) and saturates a result.
template <bool with_ftz, bool with_sat, class T>
[[nodiscard]] T output(T value) {
  if constexpr (with_sat) {
    return saturate(input<with_ftz>(value));
  } else if constexpr (std::is_same_v<T, float>) {
    const float flushed = input<with_ftz>(value);
    return flushed == flushed ? flushed : canonical_nan();
  } else {
    return value;
  }
}

/// An operation with .ftz and .sat around it.
template <class Operation, bool with_ftz, bool with_sat>
struct Modified {
  /// The operation, on flushed inputs.
  template <class T, class... More>
  static T apply(T a, More... more) {
    return output<with_ftz, with_sat>(
        Operation::apply(input<with_ftz>(a), input<with_ftz>(more)...));
  }
};

}  // namespace bw::sim::floating
