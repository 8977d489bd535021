/// \file
/// Block-scaled formats on the host: conversions, quantisation, the layout of scales, descriptors
/// and the reference, against literal tables and sums written out here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/device/block_scaled_descriptor.cuh"
#include "common/device/scale_atom.cuh"
#include "common/host/block_scaled_matrix.hpp"
#include "common/host/block_scaled_problem.hpp"
#include "common/host/error.hpp"
#include "common/host/narrow_formats.hpp"
#include "common/host/quantised_comparison.hpp"
#include "common/host/random_normal.hpp"

namespace bw {
namespace {

constexpr BlockFormat kFormats[] = {BlockFormat::kMxfp8, BlockFormat::kMxfp4, BlockFormat::kNvfp4};

/// An element of the matrices here: rows of different magnitudes.
struct BlockTestValues {
  float operator()(int64_t row, int64_t column) const {
    return RandomNormal(3, 1)(row * 4096 + column) * std::exp2(static_cast<float>(row % 7 - 3));
  }
};

TEST(NarrowFormats, HaveTheValuesOfTheSpecification) {
  const float positive[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(to_float(Fp4E2m1{code}), positive[code]);
    EXPECT_EQ(to_float(Fp4E2m1{static_cast<uint8_t>(code | 8)}), -positive[code]);
    EXPECT_EQ(to_fp4_e2m1(positive[code]).bits, code);
  }
  EXPECT_EQ(to_float(Ue8m0{127}), 1.0f);
  EXPECT_EQ(to_float(Ue8m0{0}), 0x1p-127f);
  EXPECT_EQ(to_float(Ue8m0{254}), 0x1p127f);
  EXPECT_TRUE(std::isnan(to_float(Ue8m0{255})));
}

TEST(NarrowFormats, RoundE2m1ToTheNearestAndToEvenInTheMiddle) {
  for (int i = -8000; i <= 8000; ++i) {
    const float value = static_cast<float>(i) / 1000;
    const float rounded = to_float(to_fp4_e2m1(value));
    for (uint8_t code = 0; code < 16; ++code) {
      EXPECT_LE(std::fabs(rounded - value), std::fabs(to_float(Fp4E2m1{code}) - value)) << value;
    }
  }
  // Halfway: the neighbour with an even code.
  const float halfway[][2] = {{0.25, 0}, {0.75, 1}, {1.25, 1}, {1.75, 2},
                              {2.5, 2},  {3.5, 4},  {5, 4}};
  for (const auto& [value, expected] : halfway) {
    EXPECT_EQ(to_float(to_fp4_e2m1(value)), expected);
    EXPECT_EQ(to_float(to_fp4_e2m1(-value)), -expected);
  }
  EXPECT_EQ(to_float(to_fp4_e2m1(1e30f)), 6.0f);
  EXPECT_EQ(to_float(to_fp4_e2m1(std::nanf(""))), 6.0f);
}

TEST(NarrowFormats, RoundPowersOfTwoUpAndDown) {
  for (int exponent = -120; exponent <= 120; exponent += 8) {
    const float power = std::ldexp(1.0f, exponent);
    for (const float factor : {1.0f, 1.001f, 1.5f, 1.999f}) {
      const float up = to_float(to_ue8m0_up(power * factor));
      EXPECT_EQ(up, factor == 1.0f ? power : 2 * power);
      EXPECT_EQ(to_float(to_ue8m0_down(power * factor)), power);
    }
  }
  EXPECT_EQ(to_ue8m0_up(0.0f).bits, 0);
  EXPECT_EQ(to_ue8m0_down(0.0f).bits, 0);
  EXPECT_EQ(to_ue8m0_up(std::nanf("")).bits, 255);
  EXPECT_EQ(to_ue8m0_up(3e38f).bits, 254);
}

TEST(BlockScaledMatrix, ElementsAreTheNearestToTheirQuotientsAndNoneSaturates) {
  constexpr int64_t kRows = 9, kK = 160;
  for (const BlockFormat format : kFormats) {
    const BlockScaledMatrix matrix = quantise_block_scaled(format, kRows, kK, BlockTestValues{});
    const int64_t width = scale_block(format);
    ASSERT_EQ(matrix.blocks, kK / width);
    const double most = format == BlockFormat::kMxfp8 ? 448 : 6;
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t column = 0; column < kK; ++column) {
        const double scale = matrix.scale(row, column / width) * matrix.factor;
        const double quotient = to_float(to_bf16(BlockTestValues{}(row, column))) / scale;
        // ue8m0 rounds up, so that no quotient is beyond the largest element; ue4m3 rounds to the
        // nearest of eight steps, so that a quotient may be a sixteenth beyond.
        EXPECT_LE(std::fabs(quotient), most * (format == BlockFormat::kNvfp4 ? 17.0 / 16 : 1));
        const double error =
            std::fabs(matrix.element(row, column) - std::clamp(quotient, -most, most));
        const double magnitude = std::fabs(quotient);
        const double half_step =
            format == BlockFormat::kMxfp8
                ? std::max(std::ldexp(1.0, -10),
                           std::ldexp(1.0, std::ilogb(std::max(magnitude, 1e-9)) - 4))
            : magnitude > 4 ? 1
            : magnitude > 2 ? 0.5
                            : 0.25;
        EXPECT_LE(error, half_step * (1 + 1e-6)) << row << ' ' << column;
      }
    }
  }
}

TEST(BlockScaledMatrix, RoundsScalesAsTheSpecificationOrAsTheRecipes) {
  // 480 / 448 is more than 1: up to 2; as the specification, 2^(floor(log2(480)) - 8) = 1, and the
  // element saturates.
  const auto source = [](int64_t, int64_t column) { return column == 0 ? 480.0f : 1.0f; };
  const auto up = quantise_block_scaled(BlockFormat::kMxfp8, 1, 32, source);
  EXPECT_EQ(up.scale(0, 0), 2.0);
  EXPECT_EQ(up.element(0, 0), 240.0);
  const auto down = quantise_block_scaled(BlockFormat::kMxfp8, 1, 32, source, ScaleRounding::kDown);
  EXPECT_EQ(down.scale(0, 0), 1.0);
  EXPECT_EQ(down.element(0, 0), 448.0);
}

TEST(BlockScaledMatrix, PacksTwoElementsOfFourBitsToAByte) {
  const auto source = [](int64_t, int64_t column) {
    return column == 0 ? 6.0f : column == 1 ? -3.0f : 0.0f;
  };
  const auto matrix = quantise_block_scaled(BlockFormat::kMxfp4, 1, 32, source);
  EXPECT_EQ(matrix.row_bytes(), 16);
  EXPECT_EQ(matrix.values[0], 0xd7);  // 6 is 0111, -3 is 1101
}

TEST(BlockScaledMatrix, Nvfp4HasOneFactorForAll) {
  const auto matrix = quantise_block_scaled(BlockFormat::kNvfp4, 64, 64, BlockTestValues{});
  double largest = 0;
  for (int64_t row = 0; row < 64; ++row) {
    for (int64_t column = 0; column < 64; ++column) {
      largest =
          std::max<double>(largest, std::fabs(to_float(to_bf16(BlockTestValues{}(row, column)))));
    }
  }
  EXPECT_FLOAT_EQ(matrix.factor, static_cast<float>(largest / (448 * 6)));
  EXPECT_EQ(*std::max_element(matrix.scales.begin(), matrix.scales.end()), 0x7e);  // 448
}

TEST(ScaleLayout, IsThatOfTheFigures) {
  // PTX ISA and cuBLAS: 32 rows of 16 bytes; rows 0, 32, 64 and 96 share one, four blocks each.
  EXPECT_EQ(scale_offset(0, 0, 3), 0);
  EXPECT_EQ(scale_offset(0, 3, 3), 3);
  EXPECT_EQ(scale_offset(1, 0, 3), 16);
  EXPECT_EQ(scale_offset(32, 0, 3), 4);
  EXPECT_EQ(scale_offset(127, 3, 3), 511);
  EXPECT_EQ(scale_offset(0, 4, 3), 512);
  EXPECT_EQ(scale_offset(128, 0, 3), 3 * 512);
  EXPECT_EQ(scale_bytes(129, 9), 2 * 3 * 512);
}

TEST(ScaleLayout, HoldsEveryScaleOnceAndZerosElsewhere) {
  for (const BlockFormat format : kFormats) {
    const auto matrix = quantise_block_scaled(format, 130, 160, BlockTestValues{});
    const std::vector<uint8_t> atoms = lay_out_scales("A", matrix);
    std::vector<int> seen(atoms.size());
    for (int64_t row = 0; row < matrix.rows; ++row) {
      for (int64_t block = 0; block < matrix.blocks; ++block) {
        // Written out: atom, then lane, then quarter, then block.
        const int64_t atom = row / 128 * ((matrix.blocks + 3) / 4) + block / 4;
        const int64_t at = atom * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
        EXPECT_EQ(atoms[at], matrix.scales[row * matrix.blocks + block]);
        ++seen[at];
      }
    }
    for (size_t at = 0; at < atoms.size(); ++at) {
      EXPECT_LE(seen[at], 1);
      EXPECT_TRUE(seen[at] == 1 || atoms[at] == 0);
    }
  }
}

TEST(ScaleLayout, RefusesScalesWithoutAValue) {
  const struct {
    BlockFormat format;
    uint8_t code;
  } cases[] = {{BlockFormat::kMxfp8, 0xff},
               {BlockFormat::kMxfp4, 0xff},
               {BlockFormat::kNvfp4, 0x7f},
               {BlockFormat::kNvfp4, 0x80}};
  for (const auto& [format, code] : cases) {
    auto matrix = quantise_block_scaled(format, 4, 64, BlockTestValues{});
    matrix.scales[3 * matrix.blocks + 1] = code;
    try {
      lay_out_scales("B", matrix);
      FAIL() << int{code};
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("The scale of B's row 3, block 1 has the code " + std::to_string(code)),
                std::string::npos)
          << text;
      EXPECT_NE(text.find("NaN"), std::string::npos) << text;
    }
  }
}

TEST(BlockScaledK, IsWholeBlocksAndWholeChunks) {
  for (const BlockFormat format : kFormats) {
    EXPECT_NO_THROW(validate_block_scaled_k("K", 32, format));
    for (const int64_t k : {int64_t{0}, int64_t{16}, int64_t{1000}, int64_t{-32}}) {
      EXPECT_THROW(validate_block_scaled_k("K", k, format), Error) << k;
    }
  }
}

TEST(BlockFormat, HasTheShapesOfTheKinds) {
  EXPECT_EQ(mma_k(BlockFormat::kMxfp8), 32);
  EXPECT_EQ(mma_k(BlockFormat::kMxfp4), 64);
  EXPECT_EQ(mma_k(BlockFormat::kNvfp4), 64);
  // Which atom and which byte of its words an MMA of the K block takes.
  const int atoms[][4] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 3}};
  const int ids[][4] = {{0, 1, 2, 3}, {0, 2, 0, 2}, {0, 0, 0, 0}};
  for (int format = 0; format < 3; ++format) {
    for (int mma = 0; mma < 4; ++mma) {
      EXPECT_EQ(scale_atom_of_mma(kFormats[format], mma), atoms[format][mma]);
      EXPECT_EQ(scale_id_of_mma(kFormats[format], mma), ids[format][mma]);
    }
  }
}

TEST(BlockScaledDescriptor, HasTheFieldsOfTheTables) {
  // Kind mxf8f6f4, e4m3, ue8m0, M = 256, N = 192, ids 3: bits 4-5, 17-22, 23, 27-28, 29-30.
  EXPECT_EQ((make_block_scaled_instruction_descriptor<BlockFormat::kMxfp8, 256, 192, 2>(3)),
            3u << 4 | 24u << 17 | 1u << 23 | 2u << 27 | 3u << 29);
  // Kind mxf4, e2m1 is 1 in bits 7-9 and 10-11.
  EXPECT_EQ((make_block_scaled_instruction_descriptor<BlockFormat::kMxfp4, 128, 128, 1>(2)),
            2u << 4 | 1u << 7 | 1u << 10 | 16u << 17 | 1u << 23 | 1u << 27 | 2u << 29);
  // Kind mxf4nvf4 with ue4m3: bit 23 clear.
  EXPECT_EQ((make_block_scaled_instruction_descriptor<BlockFormat::kNvfp4, 128, 256, 1>(0)),
            1u << 7 | 1u << 10 | 32u << 17 | 1u << 27);
}

TEST(ScaleAtomDescriptor, HasNoSwizzleAndEightRowsIn128Bytes) {
  const uint64_t descriptor = make_scale_atom_descriptor(0x8200);
  EXPECT_EQ(descriptor & 0x3fff, 0x820u);
  EXPECT_EQ(descriptor >> 32 & 0x3fff, 8u);
  EXPECT_EQ(descriptor >> 46 & 0x7, 1u);
  EXPECT_EQ(descriptor >> 61, 0u);
}

TEST(BlockScaledReference, IsTheSumOfScaledProducts) {
  constexpr int64_t kM = 5, kN = 8, kK = 96;
  for (const BlockFormat format : kFormats) {
    const auto problem = make_block_scaled_problem(format, kM, kN, kK, 0.5f, 9, Fill::kNormal);
    const BlockwiseReference reference = block_scaled_reference(problem);
    for (int64_t row = 0; row < kM; ++row) {
      for (int64_t column = 0; column < kN; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < kK; ++k) {
          const int64_t block = k / scale_block(format);
          sum += problem.a.element(row, k) * problem.a.scale(row, block) *
                 problem.b.element(column, k) * problem.b.scale(column, block);
        }
        const double expected = sum * problem.a.factor * problem.b.factor +
                                0.5 * to_float(problem.c[row * kN + column]);
        EXPECT_NEAR(reference.d[row * kN + column], expected, 1e-9);
      }
    }
  }
}

TEST(BlockScaledReference, ComesCloseToTheProductOfTheUnquantisedMatrices) {
  // Sums of 512 products of normal numbers deviate by 22.6. Rounding adds about 4 % to a product of
  // e4m3 elements and 17 % to one of e2m1, so 0.9 and 3.9 to a sum; half as much again is allowed.
  // A wrong scale or factor would be off by as much as the sum itself.
  constexpr int64_t kM = 4, kN = 8, kK = 512;
  const RandomNormal a(5, 0), b(5, 1);
  const double allowed[] = {1.35, 5.9, 5.9};
  for (int format = 0; format < 3; ++format) {
    const auto problem =
        make_block_scaled_problem(kFormats[format], kM, kN, kK, 0, 5, Fill::kNormal);
    const BlockwiseReference reference = block_scaled_reference(problem);
    double squares = 0;
    for (int64_t row = 0; row < kM; ++row) {
      for (int64_t column = 0; column < kN; ++column) {
        double exact = 0;
        for (int64_t k = 0; k < kK; ++k) exact += double{a(row * kK + k)} * b(column * kK + k);
        squares += std::pow(reference.d[row * kN + column] - exact, 2);
      }
    }
    EXPECT_LT(std::sqrt(squares / (kM * kN)), allowed[format]);
  }
}

TEST(QuantisedComparison, CollectsWhatWasLaidOut) {
  for (const BlockFormat format : kFormats) {
    const BlockScaledMatrix matrix = quantise_block_scaled(format, 133, 224, BlockTestValues{});
    const BlockScaledMatrix collected =
        collect_scales(format, 133, 224, matrix.values, lay_out_scales("A", matrix), matrix.factor);
    EXPECT_EQ(collected.scales, matrix.scales);
    EXPECT_EQ(collected.blocks, matrix.blocks);
  }
}

/// What a comparison says of `matrix` after `change`, where the reference has the values that it
/// was made from.
template <class Compare, class Change>
int64_t bad_elements(BlockFormat format, const Compare& compare, const Change& change) {
  BlockScaledMatrix matrix = quantise_block_scaled(format, 20, 96, BlockTestValues{});
  BlockwiseReference reference;
  for (int64_t i = 0; i < 20 * 96; ++i) {
    reference.d.push_back(to_float(to_bf16(BlockTestValues{}(i / 96, i % 96))));
    reference.magnitude.push_back(std::fabs(reference.d.back()));
  }
  change(matrix);
  return compare(reference, matrix).bad_elements;
}

TEST(QuantisedComparison, TakesTheRightMatrixAndNoOther) {
  const auto nothing = [](BlockScaledMatrix&) {};
  const auto scale_one_up = [](BlockScaledMatrix& d) { ++d.scales[7]; };
  const auto scale_one_down = [](BlockScaledMatrix& d) { --d.scales[7]; };
  const auto nan = [](BlockScaledMatrix& d) { d.scales[7] = 0xff; };
  const auto other_factor = [](BlockScaledMatrix& d) { d.factor *= 1.5f; };
  const auto other_code = [](BlockScaledMatrix& d) { d.values[300] ^= 4; };
  for (const BlockFormat format : {BlockFormat::kMxfp8, BlockFormat::kNvfp4}) {
    EXPECT_EQ(bad_elements(format, compare_quantised_scales, nothing), 0);
    EXPECT_EQ(bad_elements(format, compare_quantised, nothing), 0);
    for (const auto& change : {+scale_one_up, +scale_one_down, +nan}) {
      EXPECT_EQ(bad_elements(format, compare_quantised_scales, change), 1);
    }
    EXPECT_EQ(bad_elements(format, compare_quantised, other_code), 1);
    EXPECT_GT(bad_elements(format, compare_quantised, nan), 0);
  }
  EXPECT_GT(bad_elements(BlockFormat::kNvfp4, compare_quantised_scales, other_factor), 0);
}

}  // namespace
}  // namespace bw
