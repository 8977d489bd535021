/// \file
/// What the block-scaled GEMM refuses, and what its configurations make of tensor memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "common/device/scale_atom.cuh"
#include "common/host/error.hpp"
#include "common/host/quantised_comparison.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_gemm.hpp"
#include "solutions/07_block_scaled_gemm/device_block_scaled_problem.hpp"
#include "tests/chapters/07_block_scaled_gemm/tmem_plans.hpp"

namespace bw {
namespace {

/// Arguments that are right, of addresses that are never used.
BlockScaledGemmArguments right_arguments(BlockFormat format) {
  const auto address = [](uintptr_t at) { return reinterpret_cast<uint8_t*>(at); };
  const int64_t m = 64, n = 256, k = 512;
  const int64_t row_bytes = k * element_bits(format) / 8, blocks = k / scale_block(format);
  return {.format = format,
          .m = m,
          .n = n,
          .k = k,
          .a = address(0x10000),
          .a_stride = row_bytes,
          .b = address(0x20000),
          .b_stride = row_bytes,
          .a_scales = address(0x30000),
          .a_scale_bytes = scale_bytes(m, blocks),
          .b_scales = address(0x40000),
          .b_scale_bytes = scale_bytes(n, blocks),
          .factor = 1,
          .c = reinterpret_cast<const Bf16*>(0x50000),
          .ldc = n,
          .d = reinterpret_cast<Bf16*>(0x60000),
          .ldd = n,
          .beta = 1};
}

/// The sentence that a change of right arguments gets; empty: none.
std::string refusal(const std::function<void(BlockScaledGemmArguments&)>& change,
                    BlockFormat format = BlockFormat::kNvfp4) {
  BlockScaledGemmArguments arguments = right_arguments(format);
  change(arguments);
  try {
    validate_block_scaled_arguments(arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "not in: " << text;
}

TEST(BlockScaledArguments, AreTakenWhenRight) {
  for (const BlockFormat format : {BlockFormat::kMxfp8, BlockFormat::kMxfp4, BlockFormat::kNvfp4}) {
    EXPECT_EQ(refusal([](auto&) {}, format), "");
  }
}

TEST(BlockScaledArguments, ScalesHaveTheSizeOfWholeAtoms) {
  // 64 rows are below one atom; their scales fill it all the same.
  expect(refusal([](auto& g) { g.a_scale_bytes = 64 * 32; }),
         "The scales of A have 2048 bytes; 64 rows of 32 blocks take 4096");
  expect(refusal([](auto& g) { g.a_scale_bytes = 64 * 32; }), "even for a matrix below one atom");
  expect(refusal([](auto& g) { g.b_scale_bytes += 512; }), "The scales of B have 8704 bytes");
  expect(refusal([](auto& g) { g.b_scales += 8; }), "multiple of 16 bytes");
  expect(refusal([](auto& g) { g.a_scales = nullptr; }), "The scales of A are a null pointer");
}

TEST(BlockScaledArguments, KFitsTheFormat) {
  for (const int64_t k : {16, 500, 1000}) {
    expect(refusal([k](auto& g) { g.k = k; }), "K is " + std::to_string(k) + ": rows are whole");
  }
  expect(refusal([](auto& g) { g.k = 0; }), "K is 0");
}

TEST(BlockScaledArguments, RowsAndNumbersAreOnesThatTheKernelTakes) {
  expect(refusal([](auto& g) { g.a_stride = 100; }), "A has 256 columns, but its rows are only");
  expect(refusal([](auto& g) { g.b_stride += 8; }), "B has rows");
  expect(refusal([](auto& g) { g.ldd = 257; }), "D has rows");
  expect(refusal([](auto& g) { g.factor = std::nanf(""); }), "The factor of the product is");
  expect(refusal([](auto& g) { g.c = nullptr; }), "beta is 1 but C is a null pointer");
  EXPECT_EQ(refusal([](auto& g) { g.c = nullptr, g.beta = 0; }), "");
  expect(refusal([](auto& g) { g.c = g.d, g.ldc += 8; }), "D is C itself");
}

TEST(BlockScaledArguments, AQuantisedOutputIsOneThatTheNextGemmCanRead) {
  const auto quantised = [](const std::function<void(QuantisedOutput&)>& change, int64_t n = 256) {
    return refusal([&](BlockScaledGemmArguments& g) {
      g.n = n;
      g.b_scale_bytes = scale_bytes(n, g.k / scale_block(g.format));
      QuantisedOutput out{.format = BlockFormat::kNvfp4,
                          .values = reinterpret_cast<uint8_t*>(0x70000),
                          .stride = 128,
                          .scales = reinterpret_cast<uint8_t*>(0x80000),
                          .scale_bytes = scale_bytes(g.m, n / 16),
                          .factor = 2};
      change(out);
      g.beta = 0;
      g.d = nullptr;  // not used
      g.quantised = out;
    });
  };
  EXPECT_EQ(quantised([](auto&) {}), "");
  expect(quantised([](auto& out) { out.scale_bytes = 1024; }),
         "The scales of D have 1024 bytes; 64 rows of 16 blocks take 2048");
  expect(quantised([](auto& out) { out.scales += 1; }), "multiple of 16 bytes");
  expect(quantised([](auto& out) { out.values += 1; }), "D starts at");
  expect(quantised([](auto& out) { out.stride = 64; }), "D has 128 columns, but its rows are only");
  expect(quantised([](auto&) {}, 248),
         "the K of a GEMM that goes on with D, is 248: rows are whole");
  expect(quantised([](auto& out) { out.format = BlockFormat::kMxfp4; }), "can't be quantised to");
  expect(quantised([](auto& out) { out.factor = 0; }), "The factor of D is 0");
  expect(quantised([](auto& out) { out.factor = std::nanf(""); }), "The factor of D is");
  expect(quantised([](auto& out) {
           out = {BlockFormat::kMxfp8, out.values, 256, out.scales, scale_bytes(64, 8), 2};
         }),
         "MXFP8 has scales only");
}

/// D of a first GEMM, in codes and scales, is A of a second one: in device memory, as it is.
void expect_second_gemm(BlockFormat format, int64_t m, int64_t n, const char* config) {
  const BlockScaledProblem first =
      make_block_scaled_problem(BlockFormat::kMxfp8, m, n, 160, 0, 5, Fill::kNormal);
  const DeviceBlockScaledProblem first_on_device(first);
  const float factor = format == BlockFormat::kNvfp4
                           ? nvfp4_factor(largest_magnitude(block_scaled_reference(first)))
                           : 1.0f;
  const DeviceQuantisedOutput d(format, m, n, factor);
  PreparedBlockScaledGemm(first_on_device.arguments(d.output()), find_block_scaled_kernel(config))
      .launch(nullptr);

  // The second one's own A is never read: its codes and scales are D's.
  BlockScaledProblem second = make_block_scaled_problem(format, m, 136, n, 0, 6, Fill::kNormal);
  const DeviceBlockScaledProblem second_on_device(second);
  BlockScaledGemmArguments arguments = second_on_device.arguments();
  arguments.a = d.values();
  arguments.a_scales = d.scales().data();
  arguments.factor = factor * second.b.factor;
  PreparedBlockScaledGemm(arguments, choose_block_scaled_kernel(format, m, 136, 148))
      .launch(nullptr);
  second.a = d.download();
  const Comparison comparison = compare_with_reference(second_on_device.download_d(), second.n,
                                                       block_scaled_reference(second));
  EXPECT_TRUE(comparison.verified()) << comparison.bad_elements << " of " << comparison.elements;
}

TEST(BlockScaledOutput, IsTheNextGemmsA) {
  // 224 and 416 columns end in the middle of an atom of scales, tiles of 192 begin in one.
  for (const BlockFormat format : {BlockFormat::kMxfp8, BlockFormat::kNvfp4}) {
    for (const char* config : {"mxfp8_cta1_128x128_1x1", "mxfp8_cta1_128x192_1x1_clc",
                               "mxfp8_cta2_256x256_2x1_overlap"}) {
      expect_second_gemm(format, 130, 224, config);
      expect_second_gemm(format, 300, 416, config);
    }
  }
}

TEST(BlockScaledArguments, AKernelOfAnotherFormatIsRefused) {
  const BlockScaledKernel& kernel = find_block_scaled_kernel("mxfp8_cta1_128x128_1x1");
  try {
    const PreparedBlockScaledGemm gemm(right_arguments(BlockFormat::kMxfp4), kernel);
    FAIL();
  } catch (const Error& error) {
    expect(error.what(), "isn't one of mxfp4");
  }
}

TEST(BlockScaledChoice, TakesTheFewestRoundsOfWhatAnSmCanDo) {
  const auto chosen = [](int64_t m, int64_t n) -> std::string {
    return choose_block_scaled_kernel(BlockFormat::kMxfp8, m, n, 148).name;
  };
  EXPECT_EQ(chosen(1, 8), "mxfp8_cta1_128x128_1x1");
  EXPECT_EQ(chosen(512, 512), "mxfp8_cta1_128x128_1x1");
  // 256 tiles of 256 x 256 are four rounds, 352 of 256 x 192 five shorter ones.
  EXPECT_EQ(chosen(4096, 4096), "mxfp8_cta2_256x192_2x1");
  // 64 and 128 tiles of 256 x 256 are one and two rounds for clusters of any shape.
  EXPECT_EQ(chosen(2048, 2048), "mxfp8_cta2_256x256_4x2_overlap");
  EXPECT_EQ(chosen(4096, 2048), "mxfp8_cta2_256x256_4x2_overlap");
  // 37 rows of tiles aren't whole clusters of 4 x 2.
  EXPECT_EQ(chosen(9472, 1024), "mxfp8_cta2_256x256_2x2_clc_overlap");
}

/// Accumulators and sets don't share columns, and all are below 512.
void expect_plan(const TmemPlan& plan, int accumulators, int set_columns) {
  EXPECT_EQ(plan.accumulators, accumulators);
  EXPECT_EQ(plan.set_columns, set_columns);
  EXPECT_LE(plan.accumulators * plan.accumulator_columns, plan.scales_begin);
  EXPECT_EQ(plan.scales_begin + plan.sets * plan.set_columns, 512);
  EXPECT_GE(plan.sets, 2);
}

TEST(BlockScaledTmem, TwoAccumulatorsOf256ColumnsLeaveNoRoom) {
  // 128 rows of A and 256 of B: three atoms of 4 columns each, for each four scales of a row.
  expect_plan(pair_plan<BlockFormat::kMxfp8, 256>(), 1, 12);
  expect_plan(pair_plan<BlockFormat::kMxfp4, 256>(), 1, 24);
  expect_plan(pair_plan<BlockFormat::kNvfp4, 256>(), 1, 48);
  expect_plan(pair_plan<BlockFormat::kMxfp8, 192>(), 2, 12);
  expect_plan(pair_plan<BlockFormat::kNvfp4, 192>(), 2, 48);
  expect_plan(pair_plan<BlockFormat::kMxfp8, 128>(), 3, 8);
  // 224 columns may begin at row 96 of an atom and end in the third.
  expect_plan(pair_plan<BlockFormat::kMxfp8, 224>(), 2, 16);
}

TEST(BlockScaledTmem, OverlappingAccumulatorsShareWhatIsMissing) {
  const TmemPlan mxfp8 = pair_plan<BlockFormat::kMxfp8, 256, AccumulatorPlan::kOverlapping>();
  EXPECT_EQ(mxfp8.shared, 2 * 256 + 2 * 12 - 512);
  EXPECT_EQ(mxfp8.second + 256, mxfp8.scales_begin);
  const TmemPlan nvfp4 = pair_plan<BlockFormat::kNvfp4, 256, AccumulatorPlan::kOverlapping>();
  EXPECT_EQ(nvfp4.shared, 2 * 256 + 2 * 48 - 512);
}

}  // namespace
}  // namespace bw
