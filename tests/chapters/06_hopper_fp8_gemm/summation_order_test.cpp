/// \file
/// The parts of K of an element of D, compared with a walk over all that the clusters compute.
#include "solutions/06_hopper_fp8_gemm/summation_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace bw::hopper {
namespace {

constexpr GemmTraits kTraits{.tile_m = 64, .tile_n = 32, .cluster_m = 2, .stream_k = true};

/// Where the parts of K begin.
std::set<int64_t> begins_of(const KParts& parts) {
  std::set<int64_t> begins;
  for (int part = 0; part < parts.count(); ++part) begins.insert(parts.begin(part));
  return begins;
}

/// The same, piece by piece, of all parts that the clusters compute.
std::vector<std::set<int64_t>> begins_of_pieces(const StreamKSchedule& schedule, uint32_t pieces) {
  std::vector<std::set<int64_t>> begins(pieces);
  for (uint32_t cluster = 0; cluster < schedule.clusters; ++cluster) {
    schedule.for_each_part(
        cluster, [&](const PiecePart& part) { begins.at(part.piece).insert(part.first); });
  }
  return begins;
}

TEST(SummationOrder, EveryElementHasThePartsOfItsPiece) {
  constexpr uint32_t kBlocks = 56;
  // More than one band of the raster, the last one lower; few and many pieces in the last round.
  for (const TileRaster& raster : {TileRaster{1, 3}, TileRaster{11, 5}, TileRaster{19, 7}}) {
    for (const uint32_t clusters : {4, 14, 39}) {
      const StreamKSchedule schedule = make_stream_k_schedule(raster.size(), clusters, kBlocks);
      const SummationOrder order(kTraits, kBlocks, raster, schedule);
      EXPECT_EQ(order.split_pieces().size(), schedule.split);
      const auto begins = begins_of_pieces(schedule, raster.size());
      for (uint32_t piece = 0; piece < raster.size(); ++piece) {
        const WorkTile tile = raster.tile(piece);
        // The corners of the piece.
        for (const int64_t row : {128 * int64_t{tile.m}, 128 * int64_t{tile.m} + 127}) {
          for (const int64_t column : {32 * int64_t{tile.n}, 32 * int64_t{tile.n} + 31}) {
            ASSERT_EQ(begins_of(order.parts_of(row, column)), begins[piece])
                << raster.m << " x " << raster.n << ", " << clusters << " clusters, piece " << piece
                << ", element (" << row << ", " << column << ")";
          }
        }
      }
    }
  }
}

TEST(SummationOrder, TheTestedRastersAreSplitInDifferentWays) {
  std::set<int> counts;
  for (const uint32_t clusters : {4, 14, 39}) {
    const TileRaster raster{11, 5};
    const SummationOrder order(kTraits, 56, raster,
                               make_stream_k_schedule(raster.size(), clusters, 56));
    for (const SplitPiece& piece : order.split_pieces()) counts.insert(piece.parts.count());
  }
  EXPECT_GE(counts.size(), 2u);
}

TEST(SummationOrder, WithoutAScheduleEveryElementHasTheKernelsParts) {
  const TileRaster raster{2, 2};
  const GemmTraits split{.tile_m = 64, .tile_n = 64, .split_k = 4, .swap_ab = true};
  const SummationOrder order(split, /*k_blocks=*/10, raster, StreamKSchedule{});
  EXPECT_TRUE(order.split_pieces().empty());
  EXPECT_EQ(begins_of(order.parts_of(0, 0)), (std::set<int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(begins_of(order.parts_of(127, 255)), (std::set<int64_t>{0, 2, 5, 7}));
}

}  // namespace
}  // namespace bw::hopper
