/// \file
/// Which cells of Tensor Memory and which bytes of shared memory an operation of the tensor core is
/// said to touch, against the figures of the PTX ISA ("Data path layouts", "tcgen05.cp",
/// "tcgen05.shift").
#include <array>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "common/simulator/units/tensor_core/footprint.hpp"

namespace bw::sim::test::footprint_test {
namespace {

/// A cell: rank, lane, column, and how it is used ('r', 'w' or 'b' for both).
using Cell = std::tuple<uint32_t, uint32_t, uint32_t, char>;
using Cells = std::multiset<Cell>;

Cells cells_of(const std::vector<TensorRange>& ranges) {
  Cells cells;
  for (const TensorRange& range : ranges)
    for (uint32_t lane = range.lane; lane < uint32_t{range.lane} + range.lanes; ++lane)
      for (uint32_t column = range.column; column < uint32_t{range.column} + range.columns;
           ++column)
        cells.insert({range.cta_rank, lane, column,
                      range.reads && range.writes ? 'b'
                      : range.reads               ? 'r'
                                                  : 'w'});
  return cells;
}

/// Adds `lanes` times columns [column, column + columns) of a rank.
void add(Cells& cells, uint32_t rank, const std::vector<uint32_t>& lanes, uint32_t column,
         uint32_t columns, char use) {
  for (const uint32_t lane : lanes)
    for (uint32_t c = column; c < column + columns; ++c) cells.insert({rank, lane, c, use});
}

/// `count` lanes from each of `firsts` on.
std::vector<uint32_t> lanes_from(const std::vector<uint32_t>& firsts, uint32_t count) {
  std::vector<uint32_t> lanes;
  for (const uint32_t first : firsts)
    for (uint32_t i = 0; i < count; ++i) lanes.push_back(first + i);
  return lanes;
}

MmaOperation mma(uint32_t m, uint32_t n, int group) {
  MmaOperation operation;
  operation.shape.m = m;
  operation.shape.n = n;
  operation.group = group;
  operation.d = {0, 40};
  return operation;
}

TEST(Footprint, DLiesInTheLanesOfItsLayout) {
  struct Layout {
    uint32_t m, n;
    int group;
    bool weight_stationary;
    uint32_t first_lane;
    std::vector<uint32_t> blocks;  ///< first lanes of runs of `run` lanes
    uint32_t run, columns;
  };
  const Layout layouts[] = {
      {128, 64, 1, false, 0, {0}, 128, 64},
      {64, 24, 1, false, 0, {0, 32, 64, 96}, 16, 24},
      {64, 24, 1, false, 16, {16, 48, 80, 112}, 16, 24},
      {64, 64, 1, true, 0, {0}, 128, 32},   // two halves of N, one above the other
      {32, 128, 1, true, 0, {0}, 128, 32},  // four quarters
      {256, 32, 2, false, 0, {0}, 128, 32},
      {128, 32, 2, false, 0, {0}, 128, 16},  // in each CTA two halves of N
  };
  for (const Layout& layout : layouts)
    for (const bool accumulates : {false, true}) {
      MmaOperation operation = mma(layout.m, layout.n, layout.group);
      operation.weight_stationary = layout.weight_stationary;
      operation.accumulate = accumulates;
      operation.d.lane = layout.first_lane;
      Cells expected;
      for (uint32_t rank = 2; rank < 2 + static_cast<uint32_t>(layout.group); ++rank)
        add(expected, rank, lanes_from(layout.blocks, layout.run), 40, layout.columns,
            accumulates ? 'b' : 'w');
      EXPECT_EQ(cells_of(tensor_ranges(operation, 2)), expected)
          << "M " << layout.m << ", group " << layout.group << ", lane " << layout.first_lane;
    }
}

TEST(Footprint, OtherOperandsInTensorMemory) {
  // A: 32 bytes of K are eight columns, in the rows' lanes.
  MmaOperation operation = mma(64, 8, 1);
  operation.a_in_tensor_memory = true;
  operation.a_address = {0, 100};
  Cells expected;
  const std::vector<uint32_t> rows = lanes_from({0, 32, 64, 96}, 16);
  add(expected, 0, rows, 40, 8, 'w');
  add(expected, 0, rows, 100, 8, 'r');
  EXPECT_EQ(cells_of(tensor_ranges(operation, 0)), expected);
  // Scale factors: a column for 32 rows of A, and for 32 of B, in all lanes.
  operation = mma(256, 96, 2);
  operation.shape.kind = MmaKind::mxf8f6f4;
  operation.scales = 1;
  operation.a_scales = {0, 200};
  operation.b_scales = {0, 300};
  expected.clear();
  for (const uint32_t rank : {4u, 5u}) {
    add(expected, rank, lanes_from({0}, 128), 40, 96, 'w');
    add(expected, rank, lanes_from({0}, 128), 200, 4, 'r');
    add(expected, rank, lanes_from({0}, 128), 300, 3, 'r');
  }
  EXPECT_EQ(cells_of(tensor_ranges(operation, 4)), expected);
}

TEST(Footprint, CopiesAndShifts) {
  for (const int group : {1, 2})
    for (const uint32_t row_bytes : {16u, 32u}) {
      CopyOperation copy;
      copy.group = group;
      copy.destination = {37, 8};
      copy.row_bytes = row_bytes;
      Cells all, one_a_quarter;
      for (uint32_t rank = 6; rank < 6 + static_cast<uint32_t>(group); ++rank) {
        add(all, rank, lanes_from({0}, 128), 8, row_bytes / 4, 'w');
        add(one_a_quarter, rank, {5, 37, 69, 101}, 8, row_bytes / 4, 'w');
      }
      EXPECT_EQ(cells_of(tensor_ranges(copy, 6)), all);
      copy.one_row_a_quarter = true;
      EXPECT_EQ(cells_of(tensor_ranges(copy, 6)), one_a_quarter);
    }
  for (const int group : {1, 2}) {
    Cells expected;
    for (uint32_t rank = 0; rank < static_cast<uint32_t>(group); ++rank)
      add(expected, rank, lanes_from({64}, 32), 12, 8, 'b');
    ShiftOperation shift;
    shift.group = group;
    shift.matrix = {64, 12};
    EXPECT_EQ(cells_of(tensor_ranges(shift, 0)), expected);
    EXPECT_TRUE(shared_operands(shift, 0).empty());
  }
}

/// Runs of bytes: rank, first, size.
using Runs = std::vector<std::tuple<uint32_t, uint64_t, uint64_t>>;

Runs runs_of(const std::vector<MemoryRange>& ranges) {
  Runs runs;
  for (const MemoryRange& range : ranges) {
    EXPECT_EQ(range.space, AddressSpace::shared_cta);
    runs.emplace_back(range.cta_rank, range.address, range.size_bytes);
  }
  return runs;
}

/// Without swizzle: 8 rows of 16 bytes are 128 bytes; `leading` to the next 16 bytes of K, `stride`
/// to the next 8 rows.
MatrixDescriptor plain(uint32_t start, uint32_t leading, uint32_t stride) {
  MatrixDescriptor matrix;
  matrix.start_bytes = start;
  matrix.leading_bytes = leading;
  matrix.stride_bytes = stride;
  return matrix;
}

TEST(Footprint, SharedMemoryIsToldInRunsOfWholeChunks) {
  // 16 rows of 32 bytes: two groups of rows, two columns of chunks, 128 bytes each.
  EXPECT_EQ(runs_of(matrix_runs(plain(1024, 4096, 1024), Major::k, 16, 1, 32, 3)),
            (Runs{{3, 1024, 128}, {3, 2048, 128}, {3, 5120, 128}, {3, 6144, 128}}));
  // Contiguous bytes are one run.
  EXPECT_EQ(runs_of(matrix_runs(plain(1024, 256, 128), Major::k, 16, 1, 32, 0)),
            (Runs{{0, 1024, 512}}));
  EXPECT_EQ(runs_of(matrix_runs(plain(2048, 512, 256), Major::k, 12, 2, 16, 0)),
            (Runs{{0, 2048, 128}, {0, 2304, 64}}));
}

TEST(Footprint, EachCtaOfAPairReadsItsPart) {
  MmaOperation operation = mma(256, 32, 2);
  operation.a = plain(1024, 4096, 128);
  operation.b = plain(16384, 4096, 128);
  // Each CTA holds 128 rows of A and 16 of B, of 32 bytes of K.
  const auto expect = [](uint32_t rank, uint64_t first, uint64_t bytes) {
    return Runs{{rank, first, bytes}, {rank, first + 4096, bytes}};
  };
  std::vector<std::vector<MemoryRange>> operands = shared_operands(operation, 4);
  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(runs_of(operands[0]), expect(4, 1024, 2048));
  EXPECT_EQ(runs_of(operands[1]), expect(5, 1024, 2048));
  EXPECT_EQ(runs_of(operands[2]), expect(4, 16384, 256));
  EXPECT_EQ(runs_of(operands[3]), expect(5, 16384, 256));
  operation.a_in_tensor_memory = true;
  operands = shared_operands(operation, 4);
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(runs_of(operands[0]), expect(4, 16384, 256));

  CopyOperation copy;
  copy.group = 2;
  copy.rows = 32;
  copy.row_bytes = 16;
  copy.source = plain(512, 16, 256);
  operands = shared_operands(copy, 2);
  ASSERT_EQ(operands.size(), 2u);
  for (const uint32_t member : {0u, 1u})
    EXPECT_EQ(runs_of(operands[member]), (Runs{{2 + member, 512, 128},
                                               {2 + member, 768, 128},
                                               {2 + member, 1024, 128},
                                               {2 + member, 1280, 128}}));
}

}  // namespace
}  // namespace bw::sim::test::footprint_test
