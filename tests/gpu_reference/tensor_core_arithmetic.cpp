#include "tests/gpu_reference/tensor_core_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace bw {
namespace {

using Cut = TensorCoreArithmetic::Cut;
using ProductExponent = TensorCoreArithmetic::ProductExponent;
using Accumulator = TensorCoreArithmetic::Accumulator;
using Grouping = TensorCoreArithmetic::Grouping;

/// `value` as a multiple of 2^unit_exponent.
double cut_off(double value, int unit_exponent, Cut cut) {
  const double units = std::ldexp(value, -unit_exponent);
  switch (cut) {
    case Cut::kTowardsZero:
      return std::ldexp(std::trunc(units), unit_exponent);
    case Cut::kDown:
      return std::ldexp(std::floor(units), unit_exponent);
    case Cut::kNearest:
      break;
  }
  return std::ldexp(std::nearbyint(units), unit_exponent);
}

double keep_fraction_bits(double value, int bits, Cut cut) {
  return value == 0 ? 0 : cut_off(value, std::ilogb(value) - bits, cut);
}

int exponent_of_factor(Fp8E4m3 value, ProductExponent kind) {
  constexpr float kMinNormal = 0x1p-6f;
  const float magnitude = std::fabs(to_float(value));
  if (kind == ProductExponent::kSumOfNormalisedFactors) return std::ilogb(magnitude);
  return std::ilogb(std::max(magnitude, kMinNormal));
}

/// The columns of a step in the groups that are summed one after the other.
std::vector<std::vector<int>> groups_of(Grouping grouping, int count) {
  const int groups = grouping == Grouping::kAll ? 1 : grouping == Grouping::kQuarters ? 4 : 2;
  std::vector<std::vector<int>> result(groups);
  for (int k = 0; k < count; ++k) {
    const int group = grouping == Grouping::kEvenAndOdd ? k % groups : k * groups / count;
    result[group].push_back(k);
  }
  return result;
}

}  // namespace

float TensorCoreArithmetic::step(std::span<const Fp8E4m3> a, std::span<const Fp8E4m3> b,
                                 float accumulated) const {
  double result = accumulated;
  for (const std::vector<int>& group : groups_of(grouping, static_cast<int>(a.size()))) {
    std::vector<double> terms;
    std::optional<int> largest;
    for (const int k : group) {
      const double product = double{to_float(a[k])} * to_float(b[k]);
      terms.push_back(product);
      if (product == 0 && product_exponent != ProductExponent::kSumOfFactorsEvenOfZero) continue;
      const int exponent = product_exponent == ProductExponent::kOfProduct
                               ? std::ilogb(product)
                               : exponent_of_factor(a[k], product_exponent) +
                                     exponent_of_factor(b[k], product_exponent);
      largest = largest ? std::max(*largest, exponent) : exponent;
    }
    const double before = result;
    if (accumulator == Accumulator::kAligned) {
      terms.push_back(before);
      if (before != 0) {
        largest = largest ? std::max(*largest, std::ilogb(before)) : std::ilogb(before);
      }
    }
    double sum = 0;
    if (largest) {
      for (const double term : terms) sum += cut_off(term, *largest - fraction_bits, cut);
    }
    if (accumulator == Accumulator::kAddedExactly) sum += before;
    if (accumulator == Accumulator::kAddedAligned && before != 0) {
      const int unit =
          std::max(std::ilogb(before), sum == 0 ? std::ilogb(before) : std::ilogb(sum)) -
          fraction_bits;
      sum = cut_off(sum, unit, cut) + cut_off(before, unit, cut);
    }
    result = keep_fraction_bits(sum, result_fraction_bits, result_cut);
  }
  return static_cast<float>(result);
}

std::vector<NamedArithmetic> tensor_core_candidates() {
  std::vector<NamedArithmetic> candidates = {{"as measured", {}}};
  const auto add = [&](std::string name, const auto& change) {
    candidates.push_back({std::move(name), {}});
    change(candidates.back().arithmetic);
  };
  for (const int bits : {11, 12, 14, 15, 23}) {
    add(std::to_string(bits) + " fraction bits of a term",
        [&](TensorCoreArithmetic& t) { t.fraction_bits = bits; });
  }
  for (const int bits : {12, 14, 23}) {
    add(std::to_string(bits) + " fraction bits of the result",
        [&](TensorCoreArithmetic& t) { t.result_fraction_bits = bits; });
  }
  add("terms cut off downwards", [](auto& t) { t.cut = Cut::kDown; });
  add("terms rounded to nearest", [](auto& t) { t.cut = Cut::kNearest; });
  add("result cut off downwards", [](auto& t) { t.result_cut = Cut::kDown; });
  add("result rounded to nearest", [](auto& t) { t.result_cut = Cut::kNearest; });
  add("aligned by the product's own exponent",
      [](auto& t) { t.product_exponent = ProductExponent::kOfProduct; });
  add("subnormals normalised before they are multiplied",
      [](auto& t) { t.product_exponent = ProductExponent::kSumOfNormalisedFactors; });
  add("zero products take part in the alignment",
      [](auto& t) { t.product_exponent = ProductExponent::kSumOfFactorsEvenOfZero; });
  add("accumulator added to the sum exactly",
      [](auto& t) { t.accumulator = Accumulator::kAddedExactly; });
  add("accumulator aligned with the sum of products",
      [](auto& t) { t.accumulator = Accumulator::kAddedAligned; });
  add("16 products, then the other 16", [](auto& t) { t.grouping = Grouping::kHalves; });
  add("even columns, then odd ones", [](auto& t) { t.grouping = Grouping::kEvenAndOdd; });
  add("8 products at a time", [](auto& t) { t.grouping = Grouping::kQuarters; });
  return candidates;
}

}  // namespace bw
