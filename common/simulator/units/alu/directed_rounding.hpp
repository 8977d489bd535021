#pragma once
/// \file
/// Arithmetic in the directed rounding modes on a host that rounds to nearest: the result of the
/// nearest mode, moved by one step if it is on the wrong side of the exact value. The host must be
/// in its nearest mode.

#include "common/simulator/units/alu/rounding.hpp"

namespace bw::sim::directed {

/// a + b.
[[nodiscard]] float add(Rounding rounding, float a, float b);
/// a + b.
[[nodiscard]] double add(Rounding rounding, double a, double b);
/// a * b.
[[nodiscard]] float multiply(Rounding rounding, float a, float b);
/// a * b.
[[nodiscard]] double multiply(Rounding rounding, double a, double b);
/// a * b + c, rounded once.
[[nodiscard]] float fma(Rounding rounding, float a, float b, float c);
/// a * b + c, rounded once.
[[nodiscard]] double fma(Rounding rounding, double a, double b, double c);
/// a / b.
[[nodiscard]] float divide(Rounding rounding, float a, float b);
/// a / b.
[[nodiscard]] double divide(Rounding rounding, double a, double b);
/// The square root of a.
[[nodiscard]] float root(Rounding rounding, float a);
/// The square root of a.
[[nodiscard]] double root(Rounding rounding, double a);

}  // namespace bw::sim::directed
