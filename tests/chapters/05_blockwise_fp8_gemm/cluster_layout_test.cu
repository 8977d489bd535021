/// \file
/// Masks, counts and raster of the contract, chapter 5, from their meaning rather than their
/// formulas.
#include "solutions/05_blockwise_fp8_gemm/cluster_layout.cuh"

#include <vector>

#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"
#include "tests/device_cases.hpp"

namespace bw {
namespace {

constexpr GemmTraits traits_of(int cta_group, int cluster_m, int cluster_n) {
  return {.mma_m = 128 * cta_group,
          .mma_n = 128,
          .cta_group = cta_group,
          .cluster_m = cluster_m,
          .cluster_n = cluster_n,
          .scheduling = TileScheduling::kLaunchControl};
}

template <GemmTraits traits, uint32_t epilogue_threads = 128>
struct Cluster {
  using Config = GemmConfig<traits>;
  using Layout = typename Config::Cluster;

  static bool in(uint32_t rank, uint16_t mask) { return (mask >> rank & 1) != 0; }
  static Layout at(uint32_t rank) { return Layout::of_rank(rank); }

  /// CTA `sender`'s slice of A goes to those that compute the same rows; of B to those that hold
  /// the same part of the same columns.
  static void check_multicast() {
    for (uint32_t sender = 0; sender < Layout::kSize; ++sender) {
      for (uint32_t other = 0; other < Layout::kSize; ++other) {
        const Layout s = at(sender), o = at(other);
        EXPECT_EQ(in(other, s.a_multicast_mask()), s.rank_m == o.rank_m);
        EXPECT_EQ(
            in(other, s.b_multicast_mask()),
            s.rank_n == o.rank_n && s.rank_m % traits.cta_group == o.rank_m % traits.cta_group);
      }
    }
  }

  /// A leader's MMAs read what was sent to it and to its peer: it signals exactly those senders.
  static void check_input_empty() {
    std::vector<uint32_t> commits(Layout::kSize);
    for (uint32_t leader = 0; leader < Layout::kSize; ++leader) {
      if (!at(leader).is_leader()) continue;
      for (uint32_t sender = 0; sender < Layout::kSize; ++sender) {
        bool sends = false;
        for (uint32_t reader = leader; reader < leader + traits.cta_group; ++reader) {
          sends |= in(reader, at(sender).a_multicast_mask());
          sends |= in(reader, at(sender).b_multicast_mask());
        }
        EXPECT_EQ(in(sender, at(leader).input_empty_mask()), sends);
        commits[sender] += sends;
      }
    }
    for (const uint32_t count : commits) {
      EXPECT_EQ(Config::kInputConsumerArrivals, count + epilogue_threads / 32);
    }
  }

  static void check_counts() {
    constexpr uint32_t kMain = 32, kMma = 32, kEpilogueLoad = 32, kScheduler = 32;
    EXPECT_EQ(Config::TileScheduler::kConsumerArrivals,
              kScheduler + Layout::kSize * (kMain + kMma + epilogue_threads + kEpilogueLoad));
    EXPECT_EQ(OutputTilePipeline<Config::kOutput>::kConsumerArrivals,
              epilogue_threads * traits.cta_group);
    EXPECT_EQ(Config::MmaWarp::Dealloc::kArrivals, epilogue_threads * traits.cta_group);
    EXPECT_EQ(Config::EpilogueWarp::Dealloc::kArrivals, epilogue_threads * traits.cta_group);
    EXPECT_EQ(Config::EpilogueWarp::Sync::kThreads, static_cast<int>(kMma + epilogue_threads));
    EXPECT_EQ(Config::Roles::kThreads,
              kMain + kMma + epilogue_threads + kEpilogueLoad + kScheduler);
    constexpr uint32_t kRows = traits.cta_rows(), kColumns = traits.cta_b_rows();
    EXPECT_EQ(Config::kInputStageBytes,
              traits.cta_group * (kRows * 128 + kColumns * 128 + kRows * 4));
  }

  static void check() {
    check_multicast();
    check_input_empty();
    check_counts();
  }
};

TEST(ClusterLayout, SingleCta) { Cluster<traits_of(1, 1, 1)>::check(); }
TEST(ClusterLayout, OneRow) { Cluster<traits_of(1, 2, 1)>::check(); }
TEST(ClusterLayout, Square) { Cluster<traits_of(1, 2, 2)>::check(); }
TEST(ClusterLayout, LargeSquare) { Cluster<traits_of(1, 4, 4)>::check(); }
TEST(ClusterLayout, Wide) { Cluster<traits_of(1, 8, 2)>::check(); }
TEST(ClusterLayout, Pair) { Cluster<traits_of(2, 2, 1)>::check(); }
TEST(ClusterLayout, TwoPairs) { Cluster<traits_of(2, 2, 2)>::check(); }
TEST(ClusterLayout, EightPairs) { Cluster<traits_of(2, 4, 4)>::check(); }
TEST(ClusterLayout, WidePairs) { Cluster<traits_of(2, 8, 2)>::check(); }

// Tiles of 128 rows and 256 columns per CTA have eight epilogue warps, all others four.
constexpr GemmTraits wide(int cta_group, int cluster_m, int cluster_n) {
  return {.mma_m = 128 * cta_group,
          .mma_n = 256,
          .cta_group = cta_group,
          .cluster_m = cluster_m,
          .cluster_n = cluster_n,
          .scheduling = TileScheduling::kLaunchControl};
}
TEST(ClusterLayout, WideTile) { Cluster<wide(1, 1, 1), 256>::check(); }
TEST(ClusterLayout, WideTilesInSquare) { Cluster<wide(1, 4, 4), 256>::check(); }
TEST(ClusterLayout, WideTilesOfPairs) { Cluster<wide(2, 2, 2), 256>::check(); }

using Wide = Cluster<wide(1, 1, 1), 256>::Config;
TEST(WideTile, EpilogueGroupsAreWholeAndShareTheColumns) {
  for (uint32_t warp = 0; warp < Wide::Roles::kWarps; ++warp) {
    EXPECT_EQ(Wide::Roles::is_epilogue(warp), warp < 4 || warp >= 8) << warp;
  }
  EXPECT_EQ(Wide::Accumulator::kColumns, 128);
  EXPECT_EQ(Wide::Accumulator::Layout::kThreadsPerRow, 2);
  EXPECT_EQ(Wide::Accumulator::Layout::kTmemColumns, 256);
  EXPECT_EQ(Wide::kNumAccumulatorStages, 2) << "one is multiplied while the other is read";
}

TEST(TileRaster, VisitsEveryPieceOnce) {
  for (const TileRaster raster :
       {TileRaster{1, 1}, TileRaster{3, 5}, TileRaster{8, 4}, TileRaster{19, 7}}) {
    std::vector<int> visits(raster.size());
    for (uint32_t i = 0; i < raster.size(); ++i) {
      const WorkTile tile = raster.tile(i);
      ASSERT_TRUE(tile.valid && tile.m < raster.m && tile.n < raster.n) << i;
      ++visits[tile.m * raster.n + tile.n];
    }
    EXPECT_EQ(visits, std::vector<int>(raster.size(), 1));
    EXPECT_FALSE(raster.tile(raster.size()).valid);
  }
}

TEST(TileRaster, NeighboursInTimeShareRowsAndColumns) {
  // 64 pieces at work together touch 8 rows and 8 columns, not 1 and 64.
  const TileRaster raster{64, 64};
  uint32_t most_m = 0, most_n = 0;
  for (uint32_t i = 0; i < 64; ++i) {
    most_m = std::max(most_m, raster.tile(i).m);
    most_n = std::max(most_n, raster.tile(i).n);
  }
  EXPECT_EQ(most_m, 7u);
  EXPECT_EQ(most_n, 7u);
}

}  // namespace
}  // namespace bw
