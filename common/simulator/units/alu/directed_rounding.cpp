#include "common/simulator/units/alu/directed_rounding.hpp"

#include <cmath>
#include <limits>

namespace bw::sim::directed {
namespace {

/// The sum of two numbers, exactly: the rounded sum and what it leaves out (Knuth's TwoSum).
struct ExactSum {
  double sum;
  double rest;
};
ExactSum exact_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// Moves `nearest`, of which the exact value differs by something with the sign of `error`.
template <class T>
T moved(Rounding rounding, T nearest, double error) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool goes_down =
      rounding == Rounding::down || (rounding == Rounding::toward_zero && !std::signbit(nearest));
  const bool goes_up =
      rounding == Rounding::up || (rounding == Rounding::toward_zero && std::signbit(nearest));
  if (error < 0 && goes_down) return std::nextafter(nearest, -kInfinity);
  if (error > 0 && goes_up) return std::nextafter(nearest, kInfinity);
  return nearest;
}

/// A finite number as fraction * 2^exponent, the fraction in [0.5, 1) or zero.
struct Scaled {
  explicit Scaled(double value) : fraction(std::frexp(value, &exponent)) {}
  int exponent = 0;
  double fraction;
};

/// An infinite result of finite operands is too large by any amount.
double overflow_error(double result) { return result > 0 ? -1 : 1; }

/// A sum that is exactly zero is negative zero if it is rounded down, unless both are positive
/// zeros.
template <class T>
T zero_sum(Rounding rounding, T sum, T a, T b) {
  const bool both_have_sign = std::signbit(a) && std::signbit(b);
  const bool none_has_sign = !std::signbit(a) && !std::signbit(b);
  if (rounding != Rounding::down || both_have_sign || (none_has_sign && a == 0 && b == 0))
    return sum;
  return -T{0};
}

/// The float next to sum + rest, of which `rest` is less than half of the last bit of `sum`.
float to_float(Rounding rounding, const ExactSum& exact) {
  const auto nearest = static_cast<float>(exact.sum);
  if (std::isinf(nearest)) return moved(rounding, nearest, overflow_error(nearest));
  const double error = exact.sum - nearest;
  return moved(rounding, nearest, error != 0 ? error : exact.rest);
}

}  // namespace

float add(Rounding rounding, float a, float b) {
  const float nearest = a + b;
  if (!std::isfinite(a) || !std::isfinite(b)) return nearest;
  if (nearest == 0) return zero_sum(rounding, nearest, a, b);  // float sums never underflow
  return to_float(rounding, exact_sum(a, b));
}

double add(Rounding rounding, double a, double b) {
  const double nearest = a + b;
  if (!std::isfinite(a) || !std::isfinite(b)) return nearest;
  if (nearest == 0) return zero_sum(rounding, nearest, a, b);
  if (std::isinf(nearest)) return moved(rounding, nearest, overflow_error(nearest));
  return moved(rounding, nearest, exact_sum(a, b).rest);
}

float multiply(Rounding rounding, float a, float b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a * b;
  const double product = double{a} * b;  // exact
  if (product == 0) return a * b;
  return to_float(rounding, {product, 0});
}

double multiply(Rounding rounding, double a, double b) {
  const double nearest = a * b;
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return nearest;
  if (std::isinf(nearest)) return moved(rounding, nearest, overflow_error(nearest));
  const Scaled x(a), y(b);
  const double result = std::ldexp(nearest, -(x.exponent + y.exponent));
  return moved(rounding, nearest, std::fma(x.fraction, y.fraction, -result));
}

float fma(Rounding rounding, float a, float b, float c) {
  const bool is_finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
  // (A sum that was rounded to double first may be rounded to the other neighbour of a tie.)
  if (!is_finite || rounding == Rounding::nearest_even) return std::fma(a, b, c);
  const double product = double{a} * b;  // exact
  const ExactSum exact = exact_sum(product, c);
  if (exact.sum == 0) return static_cast<float>(zero_sum(rounding, exact.sum, product, double{c}));
  return to_float(rounding, exact);
}

double fma(Rounding rounding, double a, double b, double c) {
  const double nearest = std::fma(a, b, c);
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return nearest;
  if (a == 0 || b == 0) return add(rounding, a * b, c);
  if (std::isinf(nearest)) return moved(rounding, nearest, overflow_error(nearest));
  // Everything is scaled so that the product is between 1/4 and 1 and its two parts are exact.
  const Scaled x(a), y(b), z(c);
  const int scale = -(x.exponent + y.exponent);
  const double product = x.fraction * y.fraction;
  const double product_rest = std::fma(x.fraction, y.fraction, -product);
  constexpr int kFarAbove = 900, kFarBelow = -900;
  if (c != 0 && z.exponent + scale > kFarAbove) return moved(rounding, nearest, product);
  const double result = std::ldexp(nearest, scale);
  const bool is_tiny = c == 0 || z.exponent + scale < kFarBelow;
  const double addend = is_tiny ? 0 : std::ldexp(c, scale);
  // The exact sum of four numbers: the first two and the result cancel to a few bits.
  const ExactSum first = exact_sum(product, addend);
  const ExactSum second = exact_sum(first.sum, -result);
  const ExactSum third = exact_sum(first.rest, product_rest);
  const ExactSum fourth = exact_sum(second.sum, third.sum);
  double error = fourth.sum;
  if (error == 0) error = fourth.rest;
  const double small = second.rest + third.rest;
  if (error == 0) error = small;
  if (error == 0 && is_tiny) error = c;
  if (nearest == 0 && error == 0) return zero_sum(rounding, nearest, product, c);
  return moved(rounding, nearest, error);
}

float divide(Rounding rounding, float a, float b) {
  const float nearest = a / b;
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return nearest;
  if (std::isinf(nearest)) return moved(rounding, nearest, overflow_error(nearest));
  const double rest = std::fma(-double{nearest}, double{b}, double{a});
  return moved(rounding, nearest, b > 0 ? rest : -rest);
}

double divide(Rounding rounding, double a, double b) {
  const double nearest = a / b;
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return nearest;
  if (std::isinf(nearest)) return moved(rounding, nearest, overflow_error(nearest));
  const Scaled x(a), y(b);
  const double result = std::ldexp(nearest, y.exponent - x.exponent);
  const double rest = std::fma(-result, y.fraction, x.fraction);
  return moved(rounding, nearest, y.fraction > 0 ? rest : -rest);
}

float root(Rounding rounding, float a) {
  const float nearest = std::sqrt(a);
  if (!std::isfinite(nearest) || nearest == 0) return nearest;
  return moved(rounding, nearest, double{a} - double{nearest} * nearest);
}

double root(Rounding rounding, double a) {
  const double nearest = std::sqrt(a);
  if (!std::isfinite(nearest) || nearest == 0) return nearest;
  int exponent = 0;
  std::frexp(a, &exponent);
  exponent += exponent & 1;  // so that the root's is whole
  const double scaled = std::ldexp(a, -exponent), result = std::ldexp(nearest, -exponent / 2);
  return moved(rounding, nearest, std::fma(-result, result, scaled));
}

}  // namespace bw::sim::directed
