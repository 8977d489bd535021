#pragma once
/// \file
/// Operands of the wgmma cases: the same on every machine, from a seed.

#include <cstdint>
#include <vector>

#include "tests/hardware/hopper/wgmma_form.hpp"
#include "tests/hardware/inputs.hpp"

namespace bw::conformance::wgmma {

/// How values are spread.
enum class Spread : uint8_t {
  normal,      ///< exponents near one another, as in a trained network
  wide,        ///< over some 60 exponents, as far as the format has them: terms are cut off
  cancelling,  ///< half zeros; the others at a few exponents, 6 to 28 apart: little is left
  tiny,        ///< the smallest normal and the subnormal numbers
  special,     ///< normal ones, and here and there an infinity, a NaN, the largest number
};
[[nodiscard]] const char* name_of(Spread spread);

/// `bits_of(element) * count` bits of elements, in 32-bit words.
[[nodiscard]] std::vector<uint32_t> elements(Element element, Spread spread, size_t words,
                                             RandomBits& random);

/// What a form's kernel works on: A and B spread in one way, D before in another.
[[nodiscard]] Inputs make_inputs(const Form& form, Spread operands, Spread accumulator,
                                 uint64_t seed);

}  // namespace bw::conformance::wgmma
