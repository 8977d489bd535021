/// \file
/// The model of Hopper's FP8 tensor cores, on the host: its rules one by one, results recorded on
/// an H100, and the element of a GEMM that is off by more than is allowed.
#include "common/host/tensor_core_sum.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "common/host/comparison.hpp"
#include "common/host/tensor_core_element.hpp"
#include "tests/gpu_reference/mma_steps.hpp"
#include "tests/gpu_reference/tensor_core_arithmetic.hpp"

namespace bw {
namespace {

/// A product of two numbers that e4m3 holds.
struct Product {
  float a, b;
};

/// One step with these products in the first columns, and zeros.
float step(const std::vector<Product>& products, float accumulator = 0) {
  std::vector<Fp8E4m3> a(kTensorCoreProducts), b(kTensorCoreProducts);
  for (size_t k = 0; k < products.size(); ++k) {
    a[k] = to_fp8_e4m3(products[k].a);
    b[k] = to_fp8_e4m3(products[k].b);
    EXPECT_EQ(to_float(a[k]), products[k].a);
    EXPECT_EQ(to_float(b[k]), products[k].b);
  }
  const float fast = tensor_core_step(a.data(), b.data(), accumulator);
  EXPECT_EQ(fast, TensorCoreArithmetic{}.step(a, b, accumulator));
  return fast;
}

// 2^7 · 2^7 and its negative: they leave what the others amount to.
constexpr Product kLarge{128, 128}, kMinusLarge{-128, 128};

TEST(TensorCoreStep, KeepsTheThirteenthBitBelowTheLargest) {
  EXPECT_EQ(step({kLarge, {1, 2}, kMinusLarge}), 2);  // 2^14 · 2^-13
  EXPECT_EQ(step({kLarge, {1, 1}, kMinusLarge}), 0);  // 2^14 · 2^-14
  EXPECT_EQ(step({{1, 1}, kMinusLarge, kLarge}), 0);  // wherever they are
}

TEST(TensorCoreStep, CutsTermsOffTowardsZero) {
  EXPECT_EQ(step({kLarge, {1.5f, 2}, kMinusLarge}), 2);
  EXPECT_EQ(step({kLarge, {-1.5f, 2}, kMinusLarge}), -2);
  EXPECT_EQ(step({kLarge, {1.875f, 2}, {1.875f, 2}, kMinusLarge}), 4);  // each term by itself
  EXPECT_EQ(step({kLarge, {-1.875f, 1}, kMinusLarge}), 0);
}

TEST(TensorCoreStep, AlignsByTheSumOfTheFactorsExponents) {
  // 1.5 · 1.5 = 2.25, but counts as 2^0: 2^-13 is kept. It isn't where the exponent is 1.
  EXPECT_EQ(step({{1.5f, 1.5f}, {-1.5f, 1.5f}, {0x1p-7f, 0x1p-6f}}), 0x1p-13f);
  EXPECT_EQ(step({{2, 1}, {-2, 1}, {0x1p-7f, 0x1p-6f}}), 0);
  // A subnormal counts as 2^-6, the smallest normal number: 2^-9 · 2 as 2^-5.
  EXPECT_EQ(step({{0x1p-9f, 2}, {-0x1p-9f, 2}}, 0x1p-19f), 0);
  EXPECT_EQ(step({{0x1p-9f, 2}, {-0x1p-9f, 2}}, 0x1p-18f), 0x1p-18f);
  // A product of zero does not count, whatever its other factor is.
  EXPECT_EQ(step({{448, 0}, {0x1p-6f, 0x1p-6f}}), 0x1p-12f);
  EXPECT_EQ(step({{448, 0}}, 0x1p-30f), 0x1p-30f);
}

TEST(TensorCoreStep, TreatsTheAccumulatorAsATerm) {
  EXPECT_EQ(step({kMinusLarge, {1, 1}}, 0x1p14f), 0);
  EXPECT_EQ(step({kMinusLarge, {1, 2}}, 0x1p14f), 2);
  EXPECT_EQ(step({kLarge, kMinusLarge}, 2), 2);
  EXPECT_EQ(step({kLarge, kMinusLarge}, 3), 2);
  EXPECT_EQ(step({kLarge, kMinusLarge}, -3), -2);
  EXPECT_EQ(step({kLarge, kMinusLarge}, 1.75f), 0);
  EXPECT_EQ(step({}, 1 + 0x1p-13f), 1 + 0x1p-13f);
  EXPECT_EQ(step({}, 1 + 0x1p-14f), 1);
}

TEST(TensorCoreStep, CutsTheResultOffTowardsZeroAtItsOwnExponent) {
  // 2^14 + 2^14 + 2^1: the terms keep 2^1, the result's last bit is 2^2.
  EXPECT_EQ(step({kLarge, kLarge, {1, 2}}), 0x1p15f);
  EXPECT_EQ(step({kMinusLarge, kMinusLarge, {-1, 2}}), -0x1p15f);
  EXPECT_EQ(step({kLarge, kLarge, {1, 2}, {1, 2}}), 0x1p15f + 4);
  EXPECT_EQ(step({kLarge, kLarge, {1, 2}, {1, 2}, {1, 2}}), 0x1p15f + 4);
  EXPECT_EQ(step(std::vector<Product>(kTensorCoreProducts, {448, 448})), 32 * 448.0f * 448);
}

TEST(TensorCoreBlock, EndsWhereKDoes) {
  std::vector<Fp8E4m3> a(kPromotedProducts, to_fp8_e4m3(2)), b(a);
  EXPECT_EQ(tensor_core_block(a.data(), b.data(), 128), 512);
  EXPECT_EQ(tensor_core_block(a.data(), b.data(), 112), 448);
  EXPECT_EQ(tensor_core_block(a.data(), b.data(), 16), 64);
}

/// FNV-1a over the bits of accumulators.
class Fingerprint {
 public:
  void add(float value) {
    constexpr uint64_t kPrime = 0x100000001b3u;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (int byte = 0; byte < 4; ++byte) value_ = (value_ ^ (bits >> 8 * byte & 0xff)) * kPrime;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

TEST(TensorCoreStep, GivesWhatAnH100Gave) {
  // Of the accumulators after each step of tiles of every kind, recorded on an H100 (2026-11-21).
  const uint64_t kRecorded[] = {
      0x8072e3d3a52fd52fu, 0x98c699817b0a30ffu, 0x2b58b2f3ba938e97u, 0xbb08f23930e7a653u,
      0x9571b460ea36665fu, 0xed902f6461a2a84cu, 0xb30da7ee256f3c05u, 0x5171bd7456ee880fu,
      0x191348b1e5c41f0fu, 0x346ee25b392b59deu, 0x2351c327f04ebea7u, 0x8639525a91e4cf0cu,
      0xda6f4fb79664f6e4u, 0xce2307085ddda811u, 0xe25eb551112f81b9u, 0x81f7c49f9c641b23u,
      0xdfe07a78368402b7u, 0xd29676c460474241u, 0xc9ceda473e49a599u, 0x170369d2193788b9u,
      0x8409d7a1b0e003edu, 0xe6fa4823a867c831u, 0x21c84ca37502fe73u, 0xdcc948454676d68du,
  };
  constexpr int kTiles = std::size(kRecorded);
  const MmaTiles tiles = random_mma_tiles(kTiles, /*seed=*/1);
  for (int tile = 0; tile < kTiles; ++tile) {
    std::vector<float> accumulators(
        tiles.initial.begin() + tile * MmaTiles::kRows * MmaTiles::kColumns,
        tiles.initial.begin() + (tile + 1) * MmaTiles::kRows * MmaTiles::kColumns);
    Fingerprint fingerprint;
    for (int step = 0; step < MmaTiles::kSteps; ++step) {
      for (int row = 0; row < MmaTiles::kRows; ++row) {
        for (int column = 0; column < MmaTiles::kColumns; ++column) {
          float& accumulator = accumulators[row * MmaTiles::kColumns + column];
          accumulator = tensor_core_step(tiles.a_step(tile, row, step).data(),
                                         tiles.b_step(tile, column, step).data(), accumulator);
          fingerprint.add(accumulator);
        }
      }
    }
    EXPECT_EQ(fingerprint.value(), kRecorded[tile]) << "tile " << tile;
  }
}

TEST(TensorCoreArithmetic, OfTheH100IsTheFastModels) {
  constexpr int kTiles = 24, kEvery = 61;
  const MmaTiles tiles = random_mma_tiles(kTiles, /*seed=*/2);
  const std::vector<NamedArithmetic> candidates = tensor_core_candidates();
  std::vector<int> differences(candidates.size());
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int i = tile; i < MmaTiles::kRows * MmaTiles::kColumns; i += kEvery) {
      const int row = i / MmaTiles::kColumns, column = i % MmaTiles::kColumns;
      const auto a = tiles.a_step(tile, row, 0), b = tiles.b_step(tile, column, 0);
      const float initial = tiles.initial[tile * MmaTiles::kRows * MmaTiles::kColumns + i];
      const float fast = tensor_core_step(a.data(), b.data(), initial);
      for (size_t c = 0; c < candidates.size(); ++c) {
        differences[c] += candidates[c].arithmetic.step(a, b, initial) != fast;
      }
    }
  }
  EXPECT_EQ(differences[0], 0);
  // The tiles tell every other candidate from it.
  for (size_t c = 1; c < candidates.size(); ++c) {
    EXPECT_GT(differences[c], 0) << candidates[c].name;
  }
}

TEST(TensorCoreModel, ExplainsTheElementThatIsOffByMoreThanIsAllowed) {
  // Of the 17,940,000 elements of this shape, the only one.
  constexpr int64_t kRow = 867, kColumn = 2742, kM = 2500, kN = 7176, kK = 256;
  const BlockwiseProblem problem =
      make_blockwise_problem(kM, kN, kK, 0, /*seed=*/kM + kK, Fill::kNormal);
  double expected = 0, magnitude = 0;
  for (int64_t k = 0; k < kK; ++k) {
    const int64_t block = k / kScaleBlock;
    const double scale = double{problem.a.scales[block * problem.a.scales_stride + kRow]} *
                         problem.b.scales[kColumn / kScaleBlock * problem.b.scales_stride + block];
    const double product = double{to_float(problem.a.values[kRow * kK + k])} *
                           to_float(problem.b.values[kColumn * kK + k]) * scale;
    expected += product;
    magnitude += std::fabs(product);
  }
  const double error = std::fabs(to_float(tensor_core_element(problem, kRow, kColumn)) - expected);
  EXPECT_NEAR(expected, -0.021843, 1e-6);
  EXPECT_NEAR(error, 0.021752, 1e-6);
  EXPECT_GT(error, allowed_error(expected, magnitude, kHopperAccumulationError));
}

TEST(KParts, AreAllOfKUnlessItIsSplit) {
  constexpr KParts kAll;
  EXPECT_EQ(kAll.count(), 1);
  EXPECT_EQ(kAll.begin(0), 0);
  EXPECT_EQ(kAll.end(0, 56), 56);
}

TEST(KParts, OfEqualSizeAreAsEqualAsBlocksAllow) {
  constexpr KParts kParts = equal_k_parts(9 * kPromotedProducts - 100, 4);
  EXPECT_EQ(kParts.count(), 4);
  const int64_t ends[] = {2, 4, 6, 9};
  for (int part = 0; part < 4; ++part) {
    EXPECT_EQ(kParts.begin(part), part == 0 ? 0 : ends[part - 1]);
    EXPECT_EQ(kParts.end(part, 9), ends[part]);
  }
  // More parts than blocks: some are empty.
  constexpr KParts kShort = equal_k_parts(kPromotedProducts, 4);
  EXPECT_EQ(kShort.end(2, 1), 0);
  EXPECT_EQ(kShort.begin(3), 0);
  EXPECT_EQ(kShort.end(3, 1), 1);
}

TEST(TensorCoreModel, AddsPartsOfKInOrderAndTheResidualLast) {
  const BlockwiseProblem problem =
      make_blockwise_problem(2, 8, 4 * kPromotedProducts, 0.5f, /*seed=*/1, Fill::kNormal);
  float blocks[4], scales[4];
  for (int64_t block = 0; block < 4; ++block) {
    const int64_t first = block * kPromotedProducts;
    blocks[block] = tensor_core_block(&problem.a.values[problem.k + first],
                                      &problem.b.values[3 * problem.k + first], kPromotedProducts);
    scales[block] = problem.a.scales[block * problem.a.scales_stride + 1] * problem.b.scales[block];
  }
  const float c = to_float(problem.c[problem.n + 3]);
  float whole = 0;
  for (int block = 0; block < 4; ++block) whole = std::fma(blocks[block], scales[block], whole);
  EXPECT_EQ(tensor_core_element(problem, 1, 3), to_bf16(std::fma(0.5f, c, whole)));
  const float first = std::fma(blocks[1], scales[1], blocks[0] * scales[0]);
  const float second = std::fma(blocks[3], scales[3], blocks[2] * scales[2]);
  EXPECT_EQ(tensor_core_element(problem, 1, 3, equal_k_parts(problem.k, 2)),
            to_bf16(std::fma(0.5f, c, first + second)));
  KParts unequal;
  unequal.split_at(1);
  float rest = blocks[1] * scales[1];
  for (int block = 2; block < 4; ++block) rest = std::fma(blocks[block], scales[block], rest);
  EXPECT_EQ(tensor_core_element(problem, 1, 3, unequal),
            to_bf16(std::fma(0.5f, c, blocks[0] * scales[0] + rest)));
}

}  // namespace
}  // namespace bw
