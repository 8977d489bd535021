#include "tests/hardware/hopper/wgmma_inputs.hpp"

#include <algorithm>
#include <array>

namespace bw::conformance::wgmma {
namespace {

/// A binary floating-point format without its sign.
struct Format {
  int exponent_bits, fraction_bits;
  int padding_bits = 0;  ///< below the fraction: tf32 takes the upper bits of a word

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

Format format_of(Element element) {
  constexpr int kUnusedOfTf32 = 13;
  switch (element) {
    case Element::f16:
      return {5, 10};
    case Element::bf16:
      return {8, 7};
    case Element::tf32:
      return {8, 10, kUnusedOfTf32};
    case Element::e4m3:
      return {4, 3};
    case Element::e5m2:
      return {5, 2};
    default:
      return {8, 23};
  }
}

/// Exponents of 2 around which a format's values are spread.
int spread_exponent(Spread spread, const Format& format, RandomBits& random) {
  constexpr int kWide = 30;
  constexpr std::array<int, 8> kApart = {0, 0, -6, -7, -13, -24, -25, -28};
  switch (spread) {
    case Spread::wide: {
      const int half = std::min(kWide, format.bias() - 1);
      return static_cast<int>(random.below(static_cast<uint64_t>(2 * half + 1))) - half;
    }
    case Spread::cancelling:
      return kApart[random.below(kApart.size())] / 2;
    case Spread::tiny:
      return -format.bias() + static_cast<int>(random.below(3));
    default: {
      // 0 in half of the cases, -1 in a quarter, ...
      int exponent = 0;
      while (exponent > -12 && random.below(2) == 0) --exponent;
      return exponent;
    }
  }
}

uint32_t special(const Format& format, Element element, RandomBits& random) {
  const uint32_t exponent = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  const uint32_t fraction = (1u << format.fraction_bits) - 1;
  const uint32_t sign = static_cast<uint32_t>(random.below(2))
                        << (format.exponent_bits + format.fraction_bits);
  switch (random.below(3)) {
    case 0:  // infinity; e4m3 has none
      return element == Element::e4m3 ? exponent | fraction : sign | exponent;
    case 1:  // the largest number
      return sign | (element == Element::e4m3 ? (exponent | fraction) - 1 : exponent - 1);
    default:
      return sign | exponent | fraction;
  }
}

uint32_t float_element(Element element, Spread spread, RandomBits& random) {
  constexpr uint64_t kSpecialOneIn = 400;
  const Format format = format_of(element);
  const uint32_t padding = static_cast<uint32_t>(random.next()) & ((1u << format.padding_bits) - 1);
  if (spread == Spread::special && random.below(kSpecialOneIn) == 0)
    return special(format, element, random) << format.padding_bits;
  const uint32_t sign = static_cast<uint32_t>(random.below(2))
                        << (format.exponent_bits + format.fraction_bits);
  const bool is_zero = random.below(spread == Spread::cancelling ? 2 : 50) == 0;
  if (is_zero) return sign << format.padding_bits | padding;
  const int field = std::max(0, spread_exponent(spread, format, random) + format.bias());
  const auto fraction = static_cast<uint32_t>(random.next()) & ((1u << format.fraction_bits) - 1);
  return (sign | static_cast<uint32_t>(field) << format.fraction_bits | fraction)
             << format.padding_bits |
         padding;
}

uint32_t element_bits(Element element, Spread spread, RandomBits& random) {
  switch (element) {
    case Element::s8:
    case Element::u8:
    case Element::b1:
      return static_cast<uint32_t>(random.next());
    case Element::s32: {
      // Near the ends, so that sums overflow or saturate, or anything.
      constexpr uint32_t kMost = 0x7fffffff, kNear = 100000;
      const auto any = static_cast<uint32_t>(random.next());
      if (spread != Spread::wide) return any;
      return random.below(2) == 0 ? kMost - any % kNear : kMost + 1 + any % kNear;
    }
    default:
      return float_element(element, spread, random);
  }
}

}  // namespace

const char* name_of(Spread spread) {
  constexpr const char* kNames[] = {"normal", "wide", "cancelling", "tiny", "special"};
  return kNames[static_cast<unsigned>(spread)];
}

std::vector<uint32_t> elements(Element element, Spread spread, size_t words, RandomBits& random) {
  constexpr unsigned kWordBits = 32;
  const unsigned bits = std::max(8u, bits_of(element));
  const uint32_t mask = bits == kWordBits ? ~0u : (1u << bits) - 1;
  std::vector<uint32_t> result(words);
  for (uint32_t& word : result)
    for (unsigned i = 0; i < kWordBits; i += bits)
      word |= (element_bits(element, spread, random) & mask) << i;
  return result;
}

Inputs make_inputs(const Form& form, Spread operands, Spread accumulator, uint64_t seed) {
  constexpr size_t kWordBytes = 4;
  RandomBits random(seed);
  Inputs inputs;
  inputs.a = elements(form.a, operands, kABytes / kWordBytes, random);
  inputs.b = elements(form.b, operands, kBBytes / kWordBytes, random);
  inputs.fragment = elements(form.a, operands, size_t{kFragmentRegisters} * kThreads, random);
  // Two of each four elements, ascending; of tf32 one of each two.
  constexpr std::array<uint32_t, 6> kPairs = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
  constexpr std::array<uint32_t, 2> kHalves = {0b0100, 0b1110};
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    uint32_t word = 0;
    for (unsigned i = 0; i < 32; i += 4) {
      word |= (form.a == Element::tf32 ? kHalves[random.below(kHalves.size())]
                                       : kPairs[random.below(kPairs.size())])
              << i;
    }
    inputs.metadata.push_back(word);
  }
  inputs.c = elements(form.d, accumulator, size_t{form.registers()} * kThreads, random);
  return inputs;
}

}  // namespace bw::conformance::wgmma
