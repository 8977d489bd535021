/// \file
/// Several products in one launch, in both layouts, compared with float64: products without rows,
/// blocks without a product, invalid counts, and arguments that are refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/host/device_attribute.hpp"
#include "common/host/error.hpp"
#include "common/host/why_not_hopper.hpp"
#include "solutions/06_hopper_fp8_gemm/grouped_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/grouped_problem.hpp"

namespace bw::hopper {
namespace {

constexpr cudaStream_t kDefaultStream = nullptr;
constexpr uint16_t kPoison = 0xffff;  ///< an unwritten element of D

class Grouped : public testing::Test {
 protected:
  void SetUp() override {
    const std::string found = why_not_hopper();
    if (!found.empty()) {
      GTEST_SKIP() << "needs a Hopper GPU (compute capability 9.0); found: " << found;
    }
  }
};

/// What every configuration writes is right, and bit-identical when it is run again, then GPC by
/// GPC.
void expect_right(const GroupedProblem& problem) {
  GroupedDeviceProblem on_device(problem);
  for (const GemmKernel& kernel : grouped_gemm_kernels()) {
    SCOPED_TRACE(kernel.name);
    on_device.poison_d();
    grouped_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
    const std::vector<Bf16> d = on_device.download_d();
    for (const GroupVerification& result : verify_groups(problem, d, kernel)) {
      EXPECT_TRUE(result.verification.comparison.verified())
          << "product " << result.group << ": " << result.verification.comparison.bad_elements
          << " elements are wrong";
    }
    on_device.poison_d();
    grouped_fp8_gemm(on_device.arguments(), {kernel, LaunchOrder::kGpcByGpc}, kDefaultStream);
    const std::vector<Bf16> again = on_device.download_d();
    const auto same = [](Bf16 x, Bf16 y) { return x.bits == y.bits; };
    EXPECT_TRUE(std::equal(d.begin(), d.end(), again.begin(), again.end(), same));
  }
}

GroupedProblem problem_of(GroupLayout layout, std::vector<int64_t> rows, int64_t n, int64_t k,
                          float beta) {
  constexpr int64_t kRoom = 256;
  return {.n = n,
          .k = k,
          .beta = beta,
          .seed = 11,
          .rows = std::move(rows),
          .layout = layout,
          .room = kRoom};
}

/// Single rows, whole blocks and their edges, no rows at all; N that ends inside a tile, so that a
/// tile's box reaches into the next product's B; K that ends inside a block.
const std::vector<int64_t> kRaggedRows{1, 128, 0, 33, 129, 0, 127};

TEST_F(Grouped, ContiguousProductsAreRight) {
  expect_right(problem_of(GroupLayout::kContiguous, kRaggedRows, 264, 400, 0));
}

TEST_F(Grouped, ContiguousProductsWithAResidualAreRight) {
  expect_right(problem_of(GroupLayout::kContiguous, kRaggedRows, 72, 144, 0.5f));
}

TEST_F(Grouped, MaskedProductsAreRight) {
  expect_right(problem_of(GroupLayout::kMasked, {0, 1, 256, 130, 0, 7, 17, 65}, 264, 272, 0.5f));
}

TEST_F(Grouped, OneProductIsAGemm) {
  expect_right(problem_of(GroupLayout::kContiguous, {200}, 136, 256, 0));
  expect_right(problem_of(GroupLayout::kMasked, {200}, 136, 256, 0));
}

TEST_F(Grouped, MaskedProductsOfManyTilesAreRight) {
  // More tiles of few rows than CTAs that fit at once: some have several, in sequence.
  const int64_t multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  constexpr int64_t kGroups = 9, kTileColumns = 64, kMostCtas = 4;
  const int64_t tiles = multiprocessors * kMostCtas / kGroups + 1;
  expect_right(problem_of(GroupLayout::kMasked, std::vector<int64_t>(kGroups, 3),
                          tiles * kTileColumns + 8, 144, 0));
}

/// D of rows [first, end), whose every element must be poison.
void expect_untouched(const std::vector<Bf16>& d, int64_t n, int64_t first, int64_t end) {
  for (int64_t i = first * n; i < end * n; ++i) {
    ASSERT_EQ(d[i].bits, kPoison) << "row " << i / n << ", column " << i % n;
  }
}

TEST_F(Grouped, BlocksOfNoProductStayAsTheyAre) {
  const GroupedProblem problem = problem_of(GroupLayout::kContiguous, {128, 128, 100}, 72, 128, 0);
  GroupedDeviceProblem on_device(problem);
  for (const int32_t no_group : {-1, 3, std::numeric_limits<int32_t>::max()}) {
    SCOPED_TRACE(no_group);
    on_device.numbers().upload({0, no_group, 2});
    for (const GemmKernel& kernel : grouped_gemm_kernels()) {
      on_device.poison_d();
      grouped_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      const std::vector<Bf16> d = on_device.download_d();
      expect_untouched(d, problem.n, 128, 256);
      GroupedProblem others = problem;
      const auto results = verify_groups(others, d, kernel);
      EXPECT_TRUE(results[0].verification.comparison.verified());
      EXPECT_TRUE(results[2].verification.comparison.verified());
    }
  }
}

TEST_F(Grouped, CountsBelowZeroAndAboveTheRoomAreCutOff) {
  const GroupedProblem problem = problem_of(GroupLayout::kMasked, {256, 0, 256}, 72, 128, 0);
  GroupedDeviceProblem on_device(problem);
  on_device.numbers().upload({std::numeric_limits<int32_t>::max(), -5, 257});
  for (const GemmKernel& kernel : grouped_gemm_kernels()) {
    SCOPED_TRACE(kernel.name);
    on_device.poison_d();
    grouped_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
    const std::vector<Bf16> d = on_device.download_d();
    expect_untouched(d, problem.n, problem.room, 2 * problem.room);
    for (const GroupVerification& result : verify_groups(problem, d, kernel)) {
      EXPECT_TRUE(result.verification.comparison.verified()) << "product " << result.group;
    }
  }
}

/// Expects an Error whose text holds `part`.
void expect_refused(const GroupedFp8GemmArguments& arguments, const std::string& part) {
  try {
    grouped_fp8_gemm(arguments, kDefaultStream);
    ADD_FAILURE() << "was not refused; expected: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST_F(Grouped, WrongArgumentsAreRefused) {
  const GroupedDeviceProblem on_device(problem_of(GroupLayout::kMasked, {1, 2}, 72, 128, 0));
  GroupedFp8GemmArguments arguments = on_device.arguments();
  arguments.groups = 0;
  expect_refused(arguments, "There are 0 groups");
  arguments.groups = 3;
  expect_refused(arguments, "m = 512 rows for 3 products");
  arguments.groups = 8;
  expect_refused(arguments, "a multiple of 128 rows");
  arguments.groups = int64_t{1} << 40;
  expect_refused(arguments, "split the groups over several launches");
  arguments = on_device.arguments();
  arguments.numbers = nullptr;
  expect_refused(arguments, "null pointer");
  arguments = on_device.arguments();
  arguments.gemm.output = OutputType::kFp32;
  expect_refused(arguments, "fp32 output");
}

TEST_F(Grouped, AConfigurationForOneProductIsRefused) {
  const GroupedDeviceProblem on_device(problem_of(GroupLayout::kMasked, {1, 2}, 72, 128, 0));
  EXPECT_THROW(grouped_fp8_gemm(on_device.arguments(), gemm_kernels().front(), kDefaultStream),
               Error);
}

TEST(GroupedChoice, GoesByTheRowsThatAreExpected) {
  constexpr int kMultiprocessors = 132;
  GroupedFp8GemmArguments arguments;
  arguments.groups = 32;
  arguments.gemm.m = 32 * 1024;
  arguments.gemm.n = 4096;
  arguments.gemm.k = 7168;
  const auto traits_of = [&](GroupLayout layout, int64_t expected_rows) {
    arguments.layout = layout;
    arguments.expected_rows = expected_rows;
    return choose_grouped_gemm(arguments, kMultiprocessors).kernel->traits;
  };
  EXPECT_EQ(traits_of(GroupLayout::kMasked, 1).tile_m, 16);
  EXPECT_EQ(traits_of(GroupLayout::kMasked, 8).tile_m, 16);
  EXPECT_EQ(traits_of(GroupLayout::kMasked, 30).tile_m, 64);
  EXPECT_TRUE(traits_of(GroupLayout::kMasked, 30).swap_ab);
  EXPECT_EQ(traits_of(GroupLayout::kMasked, 60).tile_n, 192) << "B is read once";
  EXPECT_FALSE(traits_of(GroupLayout::kMasked, 0).swap_ab) << "the counts are unknown";
  EXPECT_FALSE(traits_of(GroupLayout::kContiguous, 1).swap_ab) << "a block is 128 rows";
  arguments.gemm.m = 32 * 8192;
  EXPECT_EQ(traits_of(GroupLayout::kMasked, 8000).tile_n, 256);
  arguments.groups = 1;
  arguments.gemm.m = 128;
  EXPECT_EQ(traits_of(GroupLayout::kContiguous, 0).tile_n, 64) << "few tiles";
}

TEST(GroupedChoice, TilesOfManyRowsAreLaunchedGpcByGpc) {
  EXPECT_EQ(grouped_gemm_choices().size(), 2 * grouped_gemm_kernels().size());
  GroupedFp8GemmArguments arguments;
  arguments.groups = 8;
  arguments.gemm.m = 8 * 1024;
  arguments.gemm.n = 4096;
  arguments.gemm.k = 7168;
  arguments.layout = GroupLayout::kMasked;
  for (const auto& [expected_rows, name] :
       {std::pair(8, "16x64_swap_grouped"), std::pair(500, "128x192_grouped/gpc")}) {
    arguments.expected_rows = expected_rows;
    EXPECT_EQ(choose_grouped_gemm(arguments, /*multiprocessors=*/132).name(), name);
  }
}

TEST(ContiguousRows, ProductsBeginAtBlocks) {
  const ContiguousRows rows = contiguous_rows({1, 0, 129, 128});
  EXPECT_EQ(rows.first_row, (std::vector<int64_t>{0, 128, 128, 384}));
  EXPECT_EQ(rows.numbers, (std::vector<int32_t>{0, 2, 2, 3}));
  EXPECT_EQ(rows.rows, 512);
  EXPECT_THROW(contiguous_rows({3, -1}), Error);
  EXPECT_EQ(contiguous_rows({}).rows, 0);
}

}  // namespace
}  // namespace bw::hopper
