/// \file
/// When the program of chapter 6 calls a result right, and what it prints about it.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "common/host/parallel_for.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_verification.hpp"

namespace bw {
namespace {

// Of the 17,940,000 elements of 2500 x 7176 x 256 the only one that is outside of the criterion.
constexpr int64_t kM = 2500, kN = 7176, kK = 256;
constexpr int64_t kOutsideRow = 867, kOutsideColumn = 2742;
constexpr int64_t kBlocks = kK / kScaleBlock;
// The cut-out around it, and its place there.
constexpr int64_t kFirstRow = 800, kRows = 128;
constexpr int64_t kFirstColumn = kOutsideColumn / kScaleBlock * kScaleBlock, kColumns = kScaleBlock;
constexpr int64_t kRow = kOutsideRow - kFirstRow, kColumn = kOutsideColumn - kFirstColumn;

const BlockwiseProblem& whole_problem() {
  static const BlockwiseProblem problem =
      make_blockwise_problem(kM, kN, kK, 0, /*seed=*/kM + kK, Fill::kNormal);
  return problem;
}

/// These rows of the whole problem's A, kColumns rows of its B; K blocks in this order.
BlockwiseProblem cut_out(const std::vector<int64_t>& rows,
                         const std::vector<int64_t>& blocks = {0, 1}) {
  const BlockwiseProblem& whole = whole_problem();
  const auto m = static_cast<int64_t>(rows.size());
  BlockwiseProblem part{m, kColumns, kK, 0, Fill::kNormal, {}, {}, {}};
  part.a = {m, kK, {}, std::vector<float>(kBlocks * m), m};
  part.b = {kColumns, kK, {}, {}, kBlocks};
  const auto append = [&](std::vector<Fp8E4m3>& values, const QuantisedMatrix& from, int64_t row) {
    for (const int64_t block : blocks) {
      const auto first = from.values.begin() + row * kK + block * kScaleBlock;
      values.insert(values.end(), first, first + kScaleBlock);
    }
  };
  for (int64_t row = 0; row < m; ++row) append(part.a.values, whole.a, rows[row]);
  for (int64_t row = 0; row < kColumns; ++row) append(part.b.values, whole.b, kFirstColumn + row);
  for (int64_t block = 0; block < kBlocks; ++block) {
    for (int64_t row = 0; row < m; ++row) {
      part.a.scales[block * m + row] =
          whole.a.scales[blocks[block] * whole.a.scales_stride + rows[row]];
    }
    part.b.scales.push_back(
        whole.b.scales[kFirstColumn / kScaleBlock * whole.b.scales_stride + blocks[block]]);
  }
  return part;
}

std::vector<int64_t> neighbouring_rows() {
  std::vector<int64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), kFirstRow);
  return rows;
}

/// The order of a kernel that splits K in every tile, or in none.
hopper::SummationOrder order_of(int split_k) {
  return hopper::SummationOrder(equal_k_parts(kK, split_k));
}

std::vector<Bf16> model_of(const BlockwiseProblem& problem,
                           const hopper::SummationOrder& order = order_of(1)) {
  std::vector<Bf16> d(problem.m * problem.n);
  parallel_for(problem.m, [&](int64_t row) {
    for (int64_t column = 0; column < problem.n; ++column) {
      d[row * problem.n + column] =
          tensor_core_element(problem, row, column, order.parts_of(row, column));
    }
  });
  return d;
}

hopper::Verification verification_of(const BlockwiseProblem& problem, const std::vector<Bf16>& d,
                                     const hopper::SummationOrder& order = order_of(1)) {
  return hopper::verify_elements(problem, d, order, blockwise_reference(problem));
}

void expect_wrong_at(int64_t row, int64_t column, const hopper::Verification& verification) {
  EXPECT_FALSE(verification.comparison.verified());
  ASSERT_TRUE(verification.comparison.first_bad);
  EXPECT_EQ(verification.comparison.first_bad->row, row);
  EXPECT_EQ(verification.comparison.first_bad->column, column);
}

TEST(Verification, CountsTheElementThatIsTheModels) {
  const BlockwiseProblem problem = cut_out(neighbouring_rows());
  const std::vector<Bf16> d = model_of(problem);
  const Comparison plain =
      compare_with_reference(d, problem.n, blockwise_reference(problem), kHopperAccumulationError);
  ASSERT_EQ(plain.bad_elements, 1);
  const hopper::Verification verification = verification_of(problem, d);
  EXPECT_TRUE(verification.comparison.verified());
  EXPECT_EQ(verification.comparison.elements, kRows * kColumns);
  EXPECT_EQ(verification.comparison.bad_elements, 0);
  EXPECT_FALSE(verification.comparison.first_bad);
  EXPECT_EQ(verification.explained, 1);
  EXPECT_FALSE(verification.too_many_explained);
}

TEST(Verification, RefusesThatElementWithOneBitChanged) {
  const BlockwiseProblem problem = cut_out(neighbouring_rows());
  const std::vector<Bf16> of_model = model_of(problem);
  constexpr int kRightBit = 10;  // makes -0.000092 a -0.0234, which is within the criterion
  for (int bit = 0; bit < 16; ++bit) {
    SCOPED_TRACE(bit);
    if (bit == kRightBit) continue;
    std::vector<Bf16> d = of_model;
    uint16_t& bits = d[kRow * kColumns + kColumn].bits;
    bits = static_cast<uint16_t>(bits ^ 1u << bit);
    const hopper::Verification verification = verification_of(problem, d);
    EXPECT_EQ(verification.comparison.bad_elements, 1);
    EXPECT_EQ(verification.explained, 0);
    expect_wrong_at(kRow, kColumn, verification);
  }
}

TEST(Verification, RefusesMoreExplainedElementsThanThereMayBe) {
  EXPECT_EQ(hopper::most_outside(kRows * kColumns), 1);
  std::vector<int64_t> rows = neighbouring_rows();
  rows[3] = kOutsideRow;
  const BlockwiseProblem problem = cut_out(rows);
  const hopper::Verification verification = verification_of(problem, model_of(problem));
  EXPECT_EQ(verification.comparison.bad_elements, 2);
  EXPECT_EQ(verification.explained, 0);
  EXPECT_TRUE(verification.too_many_explained);
  expect_wrong_at(3, kColumn, verification);
}

TEST(Verification, TakesAMillionthMoreOfALargerMatrix) {
  constexpr int64_t kLargeRows = 7900;  // 1,011,200 elements
  EXPECT_EQ(hopper::most_outside(kLargeRows * kColumns), 2);
  std::vector<int64_t> rows(kLargeRows);
  for (int64_t row = 0; row < kLargeRows; ++row) rows[row] = kFirstRow + row % kRow;
  rows[5] = rows[7000] = kOutsideRow;
  const BlockwiseProblem problem = cut_out(rows);
  std::vector<Bf16> d = model_of(problem);
  const hopper::Verification both = verification_of(problem, d);
  EXPECT_TRUE(both.comparison.verified());
  EXPECT_EQ(both.explained, 2);

  // With the second one wrong, the first one still counts as explained, and isn't the first bad.
  d[7000 * kColumns + kColumn].bits ^= 1;
  const hopper::Verification one = verification_of(problem, d);
  EXPECT_EQ(one.comparison.bad_elements, 1);
  EXPECT_EQ(one.explained, 1);
  EXPECT_FALSE(one.too_many_explained);
  expect_wrong_at(7000, kColumn, one);
}

TEST(Verification, NamesTheFirstUnexplainedElementAmongTooMany) {
  const BlockwiseProblem problem = cut_out(neighbouring_rows());
  std::vector<Bf16> d = model_of(problem);
  d[(kRow + 1) * kColumns].bits ^= 0x8000;
  const hopper::Verification verification = verification_of(problem, d);
  EXPECT_EQ(verification.comparison.bad_elements, 2);
  EXPECT_EQ(verification.explained, 0);
  EXPECT_FALSE(verification.too_many_explained);
  expect_wrong_at(kRow + 1, 0, verification);
}

TEST(Verification, TakesTheModelInTheKernelsOrder) {
  // With the K blocks swapped, the sum of the rounded parts is one bf16 below the chain's.
  const BlockwiseProblem problem = cut_out(neighbouring_rows(), {1, 0});
  for (const int split_k : {1, 2}) {
    const hopper::SummationOrder order = order_of(split_k), other = order_of(3 - split_k);
    const std::vector<Bf16> d = model_of(problem, order);
    EXPECT_EQ(verification_of(problem, d, order).explained, 1);
    EXPECT_TRUE(verification_of(problem, d, order).comparison.verified());
    expect_wrong_at(kRow, kColumn, verification_of(problem, d, other));
  }
}

TEST(Verification, TakesAnElementOfASplitTileInTheOrderOfThatTile) {
  // Five pieces of 64 rows on four clusters: the last one is split, K block by K block.
  constexpr int kTileRows = 64, kPieces = 5;
  constexpr uint32_t kWhole = kPieces - 1;
  const hopper::GemmTraits traits{.tile_m = kTileRows, .tile_n = kColumns};
  const hopper::StreamKSchedule schedule{.clusters = kWhole,
                                         .k_blocks = kBlocks,
                                         .whole = kWhole,
                                         .split = 1,
                                         .owned = 1,
                                         .helpers = 1};
  const hopper::SummationOrder streamed(traits, kBlocks, TileRaster{kPieces, 1}, schedule);
  const hopper::SummationOrder whole = order_of(1), split = order_of(2);
  for (const int64_t row : {kWhole * kTileRows - 1, kWhole * kTileRows}) {
    SCOPED_TRACE(row);
    std::vector<int64_t> rows(kPieces * kTileRows);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = kFirstRow + static_cast<int64_t>(i) % kRow;
    rows[row] = kOutsideRow;
    const BlockwiseProblem problem = cut_out(rows, {1, 0});
    const bool is_split = row >= kWhole * kTileRows;
    const std::vector<Bf16> right = model_of(problem, is_split ? split : whole);
    EXPECT_EQ(verification_of(problem, right, streamed).explained, 1);
    EXPECT_TRUE(verification_of(problem, right, streamed).comparison.verified());
    expect_wrong_at(row, kColumn, verification_of(problem, right, is_split ? whole : split));
    const std::vector<Bf16> wrong = model_of(problem, is_split ? whole : split);
    expect_wrong_at(row, kColumn, verification_of(problem, wrong, streamed));
  }
}

TEST(Verification, DoesNotAskTheModelAboutElementsWithinTheCriterion) {
  const BlockwiseProblem problem = cut_out(neighbouring_rows());
  std::vector<Bf16> d = model_of(problem);
  d[0].bits ^= 1;
  const hopper::Verification verification = verification_of(problem, d);
  EXPECT_TRUE(verification.comparison.verified());
  EXPECT_EQ(verification.explained, 1);
}

TEST(Verification, RefusesPoison) {
  const BlockwiseProblem problem = cut_out(neighbouring_rows());
  const hopper::Verification verification =
      verification_of(problem, std::vector<Bf16>(kRows * kColumns, Bf16{0xffff}));
  EXPECT_EQ(verification.comparison.bad_elements, kRows * kColumns);
  EXPECT_FALSE(verification.too_many_explained);
  expect_wrong_at(0, 0, verification);
}

/// What verify() prints, and its status.
struct Printed {
  ExitStatus status;
  std::string text;

  bool holds(const std::string& part) const { return text.find(part) != std::string::npos; }
};

Printed print_verification(const BlockwiseProblem& problem, const std::vector<Bf16>& d) {
  testing::internal::CaptureStdout();
  const ExitStatus status = hopper::verify(problem, d, order_of(1));
  return {status, testing::internal::GetCapturedStdout()};
}

TEST(VerificationReport, TellsHowManyElementsAreExplained) {
  const BlockwiseProblem problem = cut_out(neighbouring_rows());
  std::vector<Bf16> d = model_of(problem);
  const Printed right = print_verification(problem, d);
  EXPECT_EQ(right.status, kVerified);
  EXPECT_TRUE(
      right.holds("\nexplained 1 element outside is, bit for bit, what the tensor cores"
                  " compute (chapter 6)\nverified (16384 elements)\n"))
      << right.text;

  d[kRow * kColumns + kColumn].bits ^= 1;
  const Printed wrong = print_verification(problem, d);
  EXPECT_EQ(wrong.status, kWrongResult);
  EXPECT_FALSE(wrong.holds("explained")) << wrong.text;
  EXPECT_TRUE(
      wrong.holds("\nWRONG    1 of 16384 elements are off by more than is allowed; the "
                  "first is D[67][54] = "))
      << wrong.text;
}

TEST(VerificationReport, SaysNothingOfTheModelWhereEverythingIsWithinTheCriterion) {
  std::vector<int64_t> rows = neighbouring_rows();
  rows[kRow] = kFirstRow;
  const BlockwiseProblem problem = cut_out(rows);
  const Printed printed = print_verification(problem, model_of(problem));
  EXPECT_EQ(printed.status, kVerified);
  EXPECT_FALSE(printed.holds("tensor cores")) << printed.text;
}

TEST(VerificationReport, SaysThatThereAreTooMany) {
  std::vector<int64_t> rows = neighbouring_rows();
  rows[3] = kOutsideRow;
  const BlockwiseProblem problem = cut_out(rows);
  const Printed printed = print_verification(problem, model_of(problem));
  EXPECT_EQ(printed.status, kWrongResult);
  EXPECT_TRUE(printed.holds("(chapter 6): at least 2, where 1 may be\n")) << printed.text;
  EXPECT_TRUE(printed.holds("the first is D[3][54] = ")) << printed.text;
}

TEST(VerificationReport, ComparesPositionsExactly) {
  const BlockwiseProblem problem = make_blockwise_problem(3, 8, 16, 0.5f, 1, Fill::kPositionC);
  std::vector<Bf16> d(24);
  for (size_t i = 0; i < d.size(); ++i) d[i] = to_bf16(0.5f * to_float(problem.c[i]));
  EXPECT_EQ(print_verification(problem, d).status, kVerified);
  d[17].bits ^= 1;
  EXPECT_EQ(print_verification(problem, d).status, kWrongResult);
}

}  // namespace
}  // namespace bw
