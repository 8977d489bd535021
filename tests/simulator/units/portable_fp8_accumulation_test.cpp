/// \file
/// The sums of FP8 products: this processor's vectors against those that every processor has, bit
/// for bit.
#include "tests/simulator/portable_fp8_accumulation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim::test::portable_fp8_accumulation_test {
namespace {

using Multiply = bool (*)(std::span<const RowTile>, const TileFormats&);

/// A product: codes of A and B, and the accumulators before.
struct Product {
  MmaFormat a_format, b_format;
  size_t tiles, n, k;
  bool accumulate;
  std::vector<uint8_t> a, b;  ///< [tile][k][16], [n][k]
  std::vector<float> d;       ///< [tile][n][16]
};

std::vector<float> decoded(MmaFormat format, const std::vector<uint8_t>& codes) {
  std::vector<float> values(codes.size());
  decode_elements(format, reinterpret_cast<const std::byte*>(codes.data()), values.data(),
                  values.size());
  return values;
}

/// What a function makes of a product: whether it took it, and the bits of D.
struct Outcome {
  bool taken;
  std::vector<uint32_t> d;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(Multiply multiply, const Product& product, bool with_codes) {
  const std::vector<float> a = decoded(product.a_format, product.a),
                           b = decoded(product.b_format, product.b);
  std::vector<float> d = product.d;
  std::vector<RowTile> tiles;
  for (size_t tile = 0; tile < product.tiles; ++tile) {
    const size_t first = tile * product.k * kRowBlock;
    tiles.push_back({.a = a.data() + first,
                     .b = b.data(),
                     .b_stride = product.k,
                     .d = d.data() + tile * product.n * kRowBlock,
                     .d_stride = kRowBlock,
                     .n = product.n,
                     .k = product.k,
                     .accumulate = product.accumulate,
                     .a_codes = with_codes ? product.a.data() + first : nullptr,
                     .b_codes = with_codes ? product.b.data() : nullptr});
  }
  Outcome outcome{multiply(tiles, {.a = product.a_format,
                                   .b = product.b_format,
                                   .step = static_cast<uint32_t>(kFp8Step)}),
                  std::vector<uint32_t>(d.size())};
  std::memcpy(outcome.d.data(), d.data(), d.size() * sizeof(float));
  return outcome;
}

/// Random codes; `special` ones are zeros of both signs, the smallest subnormal numbers and the
/// largest finite ones, and one in 500 is a NaN or an infinity.
Product make_product(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto format = [&] { return random() % 2 == 0 ? MmaFormat::e4m3 : MmaFormat::e5m2; };
  Product product{.a_format = format(),
                  .b_format = format(),
                  .tiles = 1 + random() % kMostJointTiles,
                  .n = 1 + random() % 20,
                  .k = (1 + random() % 3) * kFp8Step,
                  .accumulate = random() % 2 == 0,
                  .a = {},
                  .b = {},
                  .d = {}};
  const bool special = seed % 3 == 0, not_finite = seed % 10 == 0;
  const auto codes = [&](size_t count, MmaFormat of) {
    const uint8_t largest = of == MmaFormat::e4m3 ? 0x7e : 0x7b;
    std::vector<uint8_t> made(count);
    for (uint8_t& code : made) {
      const uint64_t choice = random() % 4;
      code = static_cast<uint8_t>(random() % (largest + 1u));
      if (special && choice < 3) code = choice == 0 ? 0 : choice == 1 ? 1 : largest;
      if (not_finite && random() % 500 == 0) code = 0x7f;
      code = static_cast<uint8_t>(code | (random() & 0x80));
    }
    return made;
  };
  product.a = codes(product.tiles * product.k * kRowBlock, product.a_format);
  product.b = codes(product.n * product.k, product.b_format);
  product.d.resize(product.tiles * product.n * kRowBlock);
  for (float& value : product.d)
    value = random() % 8 == 0 ? -0.0f
                              : std::ldexp(static_cast<float>(random() % 4001) - 2000.0f,
                                           static_cast<int>(random() % 24) - 16);
  return product;
}

TEST(PortableFp8Accumulation, GivesTheBitsOfWideVectors) {
  int taken = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Product product = make_product(seed);
    for (const bool with_codes : {false, true}) {
      const Outcome wide = outcome_of(multiply_fp8, product, with_codes);
      ASSERT_EQ(wide, outcome_of(multiply_fp8_portable, product, with_codes)) << "seed " << seed;
      ++(wide.taken ? taken : refused);
    }
  }
  // Both outcomes are among them.
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace bw::sim::test::portable_fp8_accumulation_test
