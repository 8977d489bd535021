#pragma once
/// \file
/// Comparison of D with its reference, element by element.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/require.hpp"

namespace bw {
namespace detail {

/// The distance of two neighbouring numbers of this format at `value`.
inline double unit_in_last_place(Bf16, double value) { return bf16_ulp(value); }
/// The distance of two neighbouring numbers of this format at `value`.
inline double unit_in_last_place(float, double value) {
  const float magnitude = std::fabs(static_cast<float>(value));
  return std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude;
}

/// As a float, exactly.
inline float value_of(Bf16 value) { return to_float(value); }
/// As a float, exactly.
inline float value_of(float value) { return value; }

}  // namespace detail

/// An element that is off by more than is allowed.
struct BadElement {
  int64_t row;      ///< of the element
  int64_t column;   ///< of the element
  double got;       ///< what was computed
  double expected;  ///< what the reference has
  double allowed;   ///< by which they may differ
};

/// Error figures of a whole matrix.
struct Comparison {
  int64_t elements = 0;                 ///< elements that were compared
  int64_t bad_elements = 0;             ///< elements that are too far off
  double max_error = 0;                 ///< max |D - reference|
  double max_error_to_allowed = 0;      ///< the worst element's share of what it may be off
  double relative_rms_error = 0;        ///< sqrt(Σ error² / Σ reference²)
  std::optional<BadElement> first_bad;  ///< the first element that is too far off

  /// Whether there was something to compare and nothing was too far off.
  bool verified() const { return elements > 0 && bad_elements == 0; }
};

/// What an accumulation may lose, relative to the sum of magnitudes: in fp32, and in the FP8 tensor
/// cores of Hopper, which keep fewer bits of a partial sum (chapter 6 measures how many).
constexpr double kFp32AccumulationError = 1e-6;
/// Share of the sum of magnitudes that Hopper's tensor cores may lose.
constexpr double kHopperAccumulationError = 1e-4;

/// What D may differ from the reference: one unit in the last place of the reference in D's type
/// `Output` (Bf16 or float), plus `accumulation_error` of the sum of magnitudes.
template <class Output = Bf16>
double allowed_error(double reference, double magnitude,
                     double accumulation_error = kFp32AccumulationError) {
  return detail::unit_in_last_place(Output{}, reference) + accumulation_error * magnitude;
}

/// Visitor of bad elements that does nothing: the figures say enough.
struct OnlyFigures {
  /// For every bad element.
  void operator()(const BadElement&) const {}
};

namespace detail {

/// Adds one element to the figures. NaN (poison that was never overwritten) is bad.
template <class OnBad>
void add_element(Comparison& comparison, int64_t row, int64_t column, double got, double expected,
                 double allowed, const OnBad& on_bad) {
  const double error = std::fabs(got - expected);
  ++comparison.elements;
  if (!(error <= allowed)) {
    const BadElement bad{row, column, got, expected, allowed};
    ++comparison.bad_elements;
    if (!comparison.first_bad) comparison.first_bad = bad;
    on_bad(bad);
  }
  if (std::isnan(error)) return;
  comparison.max_error = std::fmax(comparison.max_error, error);
  if (allowed > 0) {
    comparison.max_error_to_allowed = std::fmax(comparison.max_error_to_allowed, error / allowed);
  }
}

}  // namespace detail

/// Compares `rows` x `columns` values: element (row, column) is `got(i)`, should be `expected(i)`
/// and may be off by `allowed(i)`, where i = row * columns + column. `on_bad(BadElement)` is called
/// for every element that isn't right, in their order, as they are found.
template <class Got, class Expected, class Allowed, class OnBad = OnlyFigures>
Comparison compare_elements(int64_t rows, int64_t columns, const Got& got, const Expected& expected,
                            const Allowed& allowed, const OnBad& on_bad = {}) {
  Comparison comparison;
  double error_squares = 0, reference_squares = 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double value = got(i), reference = expected(i);
    detail::add_element(comparison, i / columns, i % columns, value, reference, allowed(i), on_bad);
    if (!std::isnan(value)) error_squares += (value - reference) * (value - reference);
    reference_squares += reference * reference;
  }
  if (reference_squares > 0) {
    comparison.relative_rms_error = std::sqrt(error_squares / reference_squares);
  }
  return comparison;
}

/// Compares `d` [M, N] with the reference by `allowed_error`; `on_bad` as compare_elements() has
/// it.
template <class Output, class OnBad = OnlyFigures>
Comparison compare_with_reference(const std::vector<Output>& d, int64_t n,
                                  const BlockwiseReference& reference,
                                  double accumulation_error = kFp32AccumulationError,
                                  const OnBad& on_bad = {}) {
  require(d.size() == reference.d.size() && n > 0, "D has ", d.size(), " elements, its reference ",
          reference.d.size(), ": they can't be compared.");
  return compare_elements(
      static_cast<int64_t>(d.size()) / n, n, [&](int64_t i) { return detail::value_of(d[i]); },
      [&](int64_t i) { return reference.d[i]; },
      [&](int64_t i) {
        return allowed_error<Output>(reference.d[i], reference.magnitude[i], accumulation_error);
      },
      on_bad);
}

/// Compares `d` [M, N] exactly with beta · C, rounded to fp32 and, for bf16, then to bf16. Without
/// C, with zero.
template <class Output>
Comparison compare_with_residual(const std::vector<Output>& d, const BlockwiseProblem& problem) {
  const size_t expected_size = static_cast<size_t>(problem.m) * problem.n;
  require(d.size() == expected_size, "D has ", d.size(), " elements, the problem ", expected_size,
          ": they can't be compared.");
  Comparison comparison;
  for (size_t i = 0; i < d.size(); ++i) {
    const float product = problem.beta == 0 ? 0.0f : problem.beta * to_float(problem.c[i]);
    const float expected = std::is_same_v<Output, Bf16> ? to_float(to_bf16(product)) : product;
    detail::add_element(comparison, static_cast<int64_t>(i) / problem.n,
                        static_cast<int64_t>(i) % problem.n, detail::value_of(d[i]), expected, 0.0,
                        OnlyFigures{});
  }
  return comparison;
}

}  // namespace bw
