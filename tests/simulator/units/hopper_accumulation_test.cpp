/// \file
/// The sums of Hopper's tensor cores: the many at once against one by one, in integers.
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "common/host/tensor_core_sum.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/hopper_fp8_accumulation.hpp"
#include "common/simulator/units/tensor_core/hopper_sum.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::hopper_accumulation_test {
namespace {

// One tile more than are summed at once.
constexpr size_t kTiles = kMostJointTiles + 1, kN = 13, kStep = 32, kK = 3 * kStep;

/// Codes of A and B, and the accumulators before.
struct Operands {
  std::vector<uint8_t> a, b;  ///< [tile][k][16], [n][k]
  std::vector<float> d;       ///< [tile][n][16]
};

Operands make_operands(MmaFormat a_format, uint64_t seed, bool accumulate) {
  std::mt19937_64 random(seed);
  Operands operands{std::vector<uint8_t>(kTiles * kK * kRowBlock), std::vector<uint8_t>(kN * kK),
                    std::vector<float>(kTiles * kN * kRowBlock)};
  // Many zeros in some of the seeds, and no NaN.
  const auto code = [&](MmaFormat format) -> uint8_t {
    if (seed % 3 == 0 && random() % 2 == 0) return static_cast<uint8_t>(random() & 0x80);
    const uint32_t most = format == MmaFormat::e4m3 ? 0x7f : 0x7c;
    return static_cast<uint8_t>(random() % most | (random() & 0x80));
  };
  for (uint8_t& value : operands.a) value = code(a_format);
  for (uint8_t& value : operands.b) value = code(MmaFormat::e4m3);
  for (float& value : operands.d)
    value = accumulate ? std::ldexp(static_cast<float>(random() % 4001) - 2000.0f,
                                    static_cast<int>(random() % 24) - 16)
                       : 0.0f;
  return operands;
}

std::vector<float> decoded(MmaFormat format, const std::vector<uint8_t>& codes) {
  std::vector<float> values(codes.size());
  decode_elements(format, reinterpret_cast<const std::byte*>(codes.data()), values.data(),
                  values.size());
  return values;
}

/// How the tiles of a product are handed over.
enum class Way { together, one_by_one, with_codes };

std::vector<float> multiply(const Operands& operands, MmaFormat a_format, bool accumulate,
                            Way way) {
  const std::vector<float> a = decoded(a_format, operands.a),
                           b = decoded(MmaFormat::e4m3, operands.b);
  std::vector<float> d = operands.d;
  std::vector<RowTile> tiles;
  for (size_t tile = 0; tile < kTiles; ++tile) {
    tiles.push_back({a.data() + tile * kK * kRowBlock, b.data(), kK,
                     d.data() + tile * kN * kRowBlock, kRowBlock, kN, kK, accumulate});
    if (way != Way::with_codes) continue;
    tiles.back().a_codes = operands.a.data() + tile * kK * kRowBlock;
    tiles.back().b_codes = operands.b.data();
  }
  const TileFormats formats{.a = a_format, .b = MmaFormat::e4m3, .step = kStep};
  const Accumulation& model = accumulation(SummationModel::hopper);
  if (way == Way::one_by_one) {
    for (const RowTile& tile : tiles) model.multiply(tile, formats);
  } else {
    model.multiply_together(tiles, formats);
  }
  return d;
}

TEST(HopperAccumulation, E4m3IsTheModelOfChapter6) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const bool accumulate = seed % 2 == 0;
    const Operands operands = make_operands(MmaFormat::e4m3, seed, accumulate);
    const std::vector<float> d = multiply(operands, MmaFormat::e4m3, accumulate,
                                          seed % 4 < 2 ? Way::together : Way::with_codes);
    for (size_t tile = 0; tile < kTiles; ++tile)
      for (size_t n = 0; n < kN; ++n)
        for (size_t row = 0; row < kRowBlock; ++row) {
          Fp8E4m3 a[kK], b[kK];
          for (size_t k = 0; k < kK; ++k) {
            a[k].bits = operands.a[(tile * kK + k) * kRowBlock + row];
            b[k].bits = operands.b[n * kK + k];
          }
          const size_t place = (tile * kN + n) * kRowBlock + row;
          float expected = accumulate ? operands.d[place] : 0.0f;
          for (size_t k = 0; k < kK; k += kStep)
            expected = tensor_core_step(a + k, b + k, expected);
          ASSERT_EQ(std::bit_cast<uint32_t>(d[place]), std::bit_cast<uint32_t>(expected))
              << "seed " << seed << ", tile " << tile << ", n " << n << ", row " << row;
        }
  }
}

/// One step by the rule, in integers of the last kept bit.
float step_by_rule(const float* a, const float* b, float accumulator, int least_a, int least_b,
                   int fraction_bits, int result_bits, size_t products) {
  const auto exponent = [](float value, int least) {
    return value == 0 ? -1000 : std::max(std::ilogb(value), least);
  };
  int largest = exponent(accumulator, -126);
  for (size_t i = 0; i < products; ++i)
    if (a[i] != 0 && b[i] != 0)
      largest = std::max(largest, exponent(a[i], least_a) + exponent(b[i], least_b));
  if (largest < -500) return 0;
  const auto kept = [&](double value) {
    return static_cast<int64_t>(std::ldexp(value, fraction_bits - largest));  // towards zero
  };
  int64_t sum = kept(accumulator);
  for (size_t i = 0; i < products; ++i) sum += kept(double{a[i]} * double{b[i]});
  if (sum == 0) return 0;
  int64_t magnitude = sum < 0 ? -sum : sum;
  const int excess = std::bit_width(static_cast<uint64_t>(magnitude)) - 1 - result_bits;
  if (excess > 0) magnitude = magnitude >> excess << excess;
  const auto result =
      static_cast<float>(std::ldexp(static_cast<double>(magnitude), largest - fraction_bits));
  return sum < 0 ? -result : result;
}

TEST(HopperAccumulation, E5m2FollowsTheSameRule) {
  constexpr int kLeastE5m2 = -14, kLeastE4m3 = -6, kBits = 13;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const bool accumulate = seed % 2 == 0;
    const Operands operands = make_operands(MmaFormat::e5m2, seed, accumulate);
    const std::vector<float> a = decoded(MmaFormat::e5m2, operands.a),
                             b = decoded(MmaFormat::e4m3, operands.b);
    const std::vector<float> d = multiply(operands, MmaFormat::e5m2, accumulate, Way::together);
    EXPECT_EQ(d, multiply(operands, MmaFormat::e5m2, accumulate, Way::one_by_one));
    EXPECT_EQ(d, multiply(operands, MmaFormat::e5m2, accumulate, Way::with_codes));
    for (size_t n = 0; n < kN; ++n)
      for (size_t row = 0; row < kRowBlock; ++row) {
        std::vector<float> of_row(kK);
        for (size_t k = 0; k < kK; ++k) of_row[k] = a[k * kRowBlock + row];
        float expected = accumulate ? operands.d[n * kRowBlock + row] : 0.0f;
        for (size_t k = 0; k < kK; k += kStep)
          expected = step_by_rule(of_row.data() + k, b.data() + n * kK + k, expected, kLeastE5m2,
                                  kLeastE4m3, kBits, kBits, kStep);
        ASSERT_EQ(d[n * kRowBlock + row], expected) << "seed " << seed;
      }
  }
}

/// D of equal rows and columns after three steps, by the model and by the rule.
struct Both {
  float model, rule;
};
Both sum_of(MmaFormat format, const std::vector<float>& a, const std::vector<float>& b,
            float accumulator) {
  std::vector<float> rows(kK * kRowBlock), d(kRowBlock, accumulator);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = a[i / kRowBlock];
  accumulation(SummationModel::hopper)
      .multiply({rows.data(), b.data(), kK, d.data(), kRowBlock, 1, kK, true},
                {.a = format, .b = format, .step = kStep});
  const int least = format == MmaFormat::e4m3 ? -6 : -14;
  float expected = accumulator;
  for (size_t k = 0; k < kK; k += kStep)
    expected = step_by_rule(a.data() + k, b.data() + k, expected, least, least, 13, 13, kStep);
  return {d[kRowBlock - 1], expected};
}

TEST(HopperAccumulation, SumsAtTheEndsOfTheRangeOfFp8) {
  // Nothing but zeros and an accumulator below all products: it stays unchanged.
  for (int exponent = -60; exponent <= -30; ++exponent) {
    const std::vector<float> zeros(kK, 0.0f), large(kK, 57344.0f);
    const Both sum = sum_of(MmaFormat::e5m2, zeros, large, std::ldexp(-1.5f, exponent));
    EXPECT_EQ(sum.model, sum.rule) << exponent;
    EXPECT_EQ(sum.model, std::ldexp(-1.5f, exponent));
  }
  // The largest products and accumulators, with zeros and small negative products among them.
  for (int exponent = 30; exponent <= 40; ++exponent) {
    std::vector<float> a(kK, 57344.0f), b(kK, 57344.0f);
    a[kK - 1] = a[kK - 5] = 0;
    a[kK - 2] = -std::ldexp(1.25f, -3);
    const Both sum = sum_of(MmaFormat::e5m2, a, b, std::ldexp(1.5f, exponent));
    EXPECT_EQ(sum.model, sum.rule) << exponent;
  }
}

TEST(HopperAccumulation, AnotherBOfTheSameShapeIsTakenForWhatItIs) {
  std::vector<float> a(kK, 1.0f), b(kK, 2.0f);
  for (const float changed : {2.0f, 3.0f, -3.0f, 3.0f}) {
    b[kK - 1] = changed;
    const Both sum = sum_of(MmaFormat::e4m3, a, b, 0.0f);
    EXPECT_EQ(sum.model, sum.rule);
    EXPECT_EQ(sum.model, 2.0f * (kK - 1) + changed);
    // The same codes as another format are other numbers.
    const Both other = sum_of(MmaFormat::e5m2, a, b, 0.0f);
    EXPECT_EQ(other.model, 2.0f * (kK - 1) + changed);
  }
}

TEST(HopperAccumulation, HalvesKeepTwentyFiveBits) {
  constexpr size_t kProducts = 16;
  constexpr int kLeast = -14, kFractionBits = 25, kResultBits = 23;
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> a(kProducts * kRowBlock), b(kProducts), d(kRowBlock);
    const auto half = [&] {
      return std::ldexp(static_cast<float>(static_cast<int>(random() % 4095) - 2047),
                        static_cast<int>(random() % 16) - 14);
    };
    for (float& value : a) value = half();
    for (float& value : b) value = half();
    for (float& value : d) value = std::ldexp(half() * half(), static_cast<int>(random() % 9) - 4);
    const std::vector<float> before = d;
    accumulation(SummationModel::hopper)
        .multiply({a.data(), b.data(), kProducts, d.data(), kRowBlock, 1, kProducts, true},
                  {.a = MmaFormat::f16, .b = MmaFormat::f16, .step = kProducts});
    for (size_t row = 0; row < kRowBlock; ++row) {
      std::vector<float> of_row(kProducts);
      for (size_t k = 0; k < kProducts; ++k) of_row[k] = a[k * kRowBlock + row];
      ASSERT_EQ(d[row], step_by_rule(of_row.data(), b.data(), before[row], kLeast, kLeast,
                                     kFractionBits, kResultBits, kProducts));
    }
  }
}

TEST(HopperAccumulation, OneNanAndInfinitiesOfBothSigns) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto sum = [](float a0, float a1, float accumulator) {
    std::vector<float> a(2 * kRowBlock, 0.0f), d(kRowBlock, accumulator);
    a[0] = a0;
    a[kRowBlock] = a1;
    const float b[2] = {1, 1};
    accumulation(SummationModel::hopper)
        .multiply({a.data(), b, 2, d.data(), kRowBlock, 1, 2, true},
                  {.a = MmaFormat::bf16, .b = MmaFormat::bf16, .step = 2});
    return std::bit_cast<uint32_t>(d[0]);
  };
  constexpr uint32_t kNan = 0x7fffffff, kInfinity = 0x7f800000;
  EXPECT_EQ(sum(infinity, 1, 1), kInfinity);
  EXPECT_EQ(sum(infinity, -infinity, 1), kNan);
  EXPECT_EQ(sum(infinity, 1, -infinity), kNan);
  EXPECT_EQ(sum(std::nanf(""), 1, 1), kNan);
  EXPECT_EQ(sum(-0.0f, -0.0f, -0.0f), 0u);
}

/// The sum of x and y as f16 is rounded once, to nearest even; from halfway between the greatest
/// number and what would be the next, it is infinite.
TEST(HopperSum, ResultsOf16Bits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float ones[2] = {1, 1};
  struct Case {
    float x, y, sum;
  };
  const Case cases[] = {{65504, 15.96875f, 65504},
                        {65504, 16, kInfinity},
                        {65504, 16.5f, kInfinity},
                        {65504, 17, kInfinity},
                        {-65504, -16.5f, -kInfinity},
                        {-65504, -15.96875f, -65504},
                        {2048, 1, 2048},
                        {2048, 3, 2052},
                        {1, 0x1p-11f, 1},
                        {1, 0x3p-11f, 1 + 0x1p-9f},
                        {0x1p-25f, 0, 0},
                        {0x1p-25f, 0x1p-24f, 0x1p-23f},
                        {0x1p-25f, 0x1p-30f, 0x1p-24f}};
  for (const Case& one : cases) {
    const float terms[2] = {one.x, one.y};
    const HopperStep step{.a = terms, .b = ones, .k = 2, .half_result = true};
    EXPECT_EQ(hopper_sum(step, 0), one.sum) << one.x << " + " << one.y;
  }
}

}  // namespace
}  // namespace bw::sim::test::hopper_accumulation_test
