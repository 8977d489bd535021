#include "common/host/quantised_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/host/narrow_formats.hpp"

namespace bw {
namespace {

// An interval in which a value of D may be.
struct Range {
  double low = 0;
  double high = 0;
};

// What fp32 may make of element `i`: of the accumulation, and of beta · C and the factor.
double uncertainty(const BlockwiseReference& reference, size_t i) {
  constexpr double kFp32Rounding = 0x1p-22;
  return kFp32AccumulationError * reference.magnitude[i] +
         kFp32Rounding * std::fabs(reference.d[i]);
}

// The largest magnitude of each block.
std::vector<Range> largest_of_blocks(const BlockwiseReference& reference,
                                     const BlockScaledMatrix& d) {
  std::vector<Range> largest(d.rows * d.blocks);
  for (int64_t i = 0; i < d.rows * d.k; ++i) {
    Range& of_block = largest[i / d.k * d.blocks + i % d.k / scale_block(d.format)];
    const double magnitude = std::fabs(reference.d[i]), error = uncertainty(reference, i);
    of_block.low = std::max(of_block.low, magnitude - error);
    of_block.high = std::max(of_block.high, magnitude + error);
  }
  return largest;
}

double rounded_scale(const BlockScaledMatrix& d, double largest) {
  if (d.format == BlockFormat::kNvfp4) {
    return to_float(to_fp8_e4m3(static_cast<float>(largest / kFp4E2m1Max / d.factor)));
  }
  return to_float(to_ue8m0_up(static_cast<float>(largest / kFp8E4m3Max)));
}

double rounded_element(BlockFormat format, double value) {
  const auto narrow = static_cast<float>(value);
  return element_bits(format) == 8 ? to_float(to_fp8_e4m3(narrow)) : to_float(to_fp4_e2m1(narrow));
}

}  // namespace

double largest_magnitude(const BlockwiseReference& reference) {
  double largest = 0;
  for (const double value : reference.d) largest = std::max(largest, std::fabs(value));
  return largest;
}

Comparison compare_quantised_scales(const BlockwiseReference& reference,
                                    const BlockScaledMatrix& d) {
  const std::vector<Range> largest = largest_of_blocks(reference, d);
  const auto least = [&](int64_t i) { return rounded_scale(d, largest[i].low); };
  const auto most = [&](int64_t i) { return rounded_scale(d, largest[i].high); };
  return compare_elements(
      d.rows, d.blocks, [&](int64_t i) { return d.scale(i / d.blocks, i % d.blocks); },
      [&](int64_t i) { return (least(i) + most(i)) / 2; },
      [&](int64_t i) { return (most(i) - least(i)) / 2; });
}

Comparison compare_quantised(const BlockwiseReference& reference, const BlockScaledMatrix& d) {
  const auto step_of = [&](int64_t i) {
    return d.scale(i / d.k, i % d.k / scale_block(d.format)) * d.factor;
  };
  // With a scale of 0 every element is 0.
  const auto nearest = [&](double value, double step) {
    return step == 0 ? 0 : rounded_element(d.format, value / step) * step;
  };
  return compare_elements(
      d.rows, d.k, [&](int64_t i) { return d.element(i / d.k, i % d.k) * step_of(i); },
      [&](int64_t i) { return reference.d[i]; },
      [&](int64_t i) {
        const double step = step_of(i), value = reference.d[i], error = uncertainty(reference, i);
        return std::max(std::fabs(nearest(value - error, step) - value),
                        std::fabs(nearest(value + error, step) - value));
      });
}

}  // namespace bw
