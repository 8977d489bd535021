#pragma once
/// \file
/// What the tensor cores' arithmetic could be: one wgmma step with every choice as a parameter, in
/// float64, and the choices that were compared with a GPU.

#include <span>
#include <string>
#include <vector>

#include "common/host/number_formats.hpp"

namespace bw {

/// A way to compute accumulator + Σ a · b. The defaults are what an H100 does; tensor_core_step()
/// computes the same, from integers.
struct TensorCoreArithmetic {
  /// What happens to the bits that don't fit.
  enum class Cut { kTowardsZero, kDown, kNearest };
  /// The exponent that a product is aligned by.
  enum class ProductExponent {
    kSumOfFactors,            ///< as their fields have it: a subnormal's is the smallest normal's
    kSumOfNormalisedFactors,  ///< a subnormal's is that of its leading bit
    kOfProduct,               ///< of the product's leading bit
    kSumOfFactorsEvenOfZero,  ///< products of zero take part
  };
  /// When the accumulator is added: as a term among the products, to their sum without a loss, or
  /// to their sum, both aligned to the larger and cut.
  enum class Accumulator { kAligned, kAddedExactly, kAddedAligned };
  /// Products that are one sum; the results of 16 or 8 at a time are accumulated in turn.
  enum class Grouping { kAll, kHalves, kEvenAndOdd, kQuarters };

  int fraction_bits = 13;         ///< kept of a term, below the largest exponent
  int result_fraction_bits = 13;  ///< kept of the result, below its own exponent
  Cut cut = Cut::kTowardsZero;    ///< of terms
  Cut result_cut = Cut::kTowardsZero;
  ProductExponent product_exponent = ProductExponent::kSumOfFactors;
  Accumulator accumulator = Accumulator::kAligned;
  Grouping grouping = Grouping::kAll;

  /// The accumulator after a step of 32 products.
  float step(std::span<const Fp8E4m3> a, std::span<const Fp8E4m3> b, float accumulator) const;
};

/// A candidate with a name for a table.
struct NamedArithmetic {
  std::string name;
  TensorCoreArithmetic arithmetic;
};

/// The arithmetic of the H100 first, then all that differ from it in one choice.
std::vector<NamedArithmetic> tensor_core_candidates();

}  // namespace bw
