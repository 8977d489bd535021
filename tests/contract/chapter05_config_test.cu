/// \file
/// Contract, chapter 5: arrive counts, multicast masks, EpiLoadPipeline, LoadOrderBarrier.
#include <type_traits>

#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test {
namespace {

// ---- Roles and arrive counts

constexpr GemmTraits traits(int cta_group, int cluster_m, int cluster_n,
                            TileScheduling scheduling = TileScheduling::kStatic) {
  return {.mma_m = 128 * cta_group,
          .mma_n = 128,
          .cta_group = cta_group,
          .cluster_m = cluster_m,
          .cluster_n = cluster_n,
          .scheduling = scheduling};
}

TEST(WarpRoles, AreTheContracts) {
  EXPECT_EQ(WarpRoles::kEpilogueWarps, 4u);
  EXPECT_EQ(WarpRoles::kSchedulerWarp, 4u);
  EXPECT_EQ(WarpRoles::kLoadWarp, 5u);
  EXPECT_EQ(WarpRoles::kMmaWarp, 6u);
  EXPECT_EQ(WarpRoles::kEpilogueLoadWarp, 7u);
  EXPECT_EQ(WarpRoles::kThreads, 256u);
}

/// A tile of 128 x 256 for each CTA: two groups of epilogue warps.
constexpr GemmTraits wide_traits(int cta_group, TileScheduling scheduling) {
  GemmTraits wide = traits(cta_group, cta_group, 1, scheduling);
  wide.mma_n = 256;
  return wide;
}
template <int CtaGroup>
using Wide = GemmConfig<wide_traits(CtaGroup, TileScheduling::kLaunchControl)>;

TEST(WarpRoles, SecondGroupOfEpilogueWarpsComesBehindTheOthers) {
  using Roles = Wide<1>::Roles;
  EXPECT_EQ(Roles::kEpilogueWarps, 8u);
  EXPECT_EQ(Roles::kThreads, 384u);
  for (uint32_t warp = 0; warp < 12; ++warp) {
    EXPECT_EQ(Roles::is_epilogue(warp), warp < 4 || warp >= 8) << "warp " << warp;
    EXPECT_EQ(Roles::Epilogue::contains(warp), Roles::is_epilogue(warp)) << "warp " << warp;
  }
  EXPECT_EQ(Wide<1>::kOutput.epilogue_threads, 256);
  EXPECT_EQ(GemmConfig<traits(1, 1, 1)>::kOutput.epilogue_threads, 128);
}

TEST(ArriveCounts, CountBothGroupsOfEpilogueWarps) {
  EXPECT_EQ(Wide<1>::kInputConsumerArrivals, 1u + 8);
  EXPECT_EQ(Wide<2>::kInputConsumerArrivals, 1u + 8);
  EXPECT_EQ(Wide<1>::TileScheduler::kConsumerArrivals, 32u + 1 * (32 + 32 + 256 + 32));
  EXPECT_EQ(Wide<2>::TileScheduler::kConsumerArrivals, 32u + 2 * (32 + 32 + 256 + 32));
  EXPECT_EQ(Wide<1>::MmaWarp::Dealloc::kArrivals, 256u);
  EXPECT_EQ(Wide<2>::MmaWarp::Dealloc::kArrivals, 2u * 256);
  EXPECT_EQ(Wide<1>::MmaWarp::Pipeline::kConsumerArrivals, 256u);
  EXPECT_EQ(Wide<2>::MmaWarp::Pipeline::kConsumerArrivals, 2u * 256);
}

template <int CtaGroup, int cluster_m, int cluster_n>
void expect_input_arrivals() {
  EXPECT_EQ((GemmConfig<traits(CtaGroup, cluster_m, cluster_n)>::kInputConsumerArrivals),
            static_cast<uint32_t>(cluster_m / CtaGroup + cluster_n - 1 + 4));
}
TEST(ArriveCounts, InputEmptyCountsCommitsAndEpilogueWarps) {
  expect_input_arrivals<1, 1, 1>();
  expect_input_arrivals<1, 2, 1>();
  expect_input_arrivals<1, 2, 2>();
  expect_input_arrivals<1, 4, 4>();
  expect_input_arrivals<1, 8, 2>();
  expect_input_arrivals<2, 2, 1>();
  expect_input_arrivals<2, 2, 2>();
  expect_input_arrivals<2, 4, 4>();
  expect_input_arrivals<2, 8, 2>();
}

TEST(ArriveCounts, LaunchControlEmptyCountsEveryThreadOfEveryConsumingRole) {
  using One = GemmConfig<traits(1, 1, 1, TileScheduling::kLaunchControl)>;
  using Four = GemmConfig<traits(2, 2, 2, TileScheduling::kLaunchControl)>;
  using Sixteen = GemmConfig<traits(1, 4, 4, TileScheduling::kLaunchControl)>;
  EXPECT_EQ(One::TileScheduler::kConsumerArrivals, 32u + 1 * (32 + 32 + 128 + 32));
  EXPECT_EQ(Four::TileScheduler::kConsumerArrivals, 32u + 4 * (32 + 32 + 128 + 32));
  EXPECT_EQ(Sixteen::TileScheduler::kConsumerArrivals, 32u + 16 * (32 + 32 + 128 + 32));
}

TEST(ArriveCounts, InputFullExpectsTheBytesOfTheGroup) {
  using One = GemmConfig<traits(1, 1, 1)>;
  using Pair = GemmConfig<traits(2, 2, 1)>;
  EXPECT_EQ(One::kInputStageBytes, 128u * 128 + 128 * 128 + 128 * 4);
  EXPECT_EQ(Pair::kInputStageBytes, 2u * (128 * 128 + 64 * 128 + 128 * 4));
  constexpr GemmTraits kGrouped{.mma_m = 128, .mma_n = 128, .k_group_size = 2};
  using Grouped = GemmConfig<kGrouped>;
  EXPECT_EQ(Grouped::kInputStageBytes, 2 * One::kInputStageBytes) << "two K blocks a stage";
  EXPECT_EQ(Grouped::InputPipeline::kNumTiles, 2 * Grouped::InputPipeline::kNumGroupStages);
}

// ---- Multicast: by the CTAs that share data, not by the formulas.

template <int CtaGroup, int cluster_m, int cluster_n>
void expect_masks() {
  using Layout = ClusterLayout<CtaGroup, cluster_m, cluster_n>;
  for (uint32_t rank = 0; rank < Layout::kSize; ++rank) {
    const auto here = Layout::of_rank(rank);
    const uint32_t m = rank % cluster_m, n = rank / cluster_m;
    EXPECT_EQ(here.rank_m, m);
    EXPECT_EQ(here.rank_n, n);
    EXPECT_EQ(here.is_leader(), CtaGroup == 1 || rank % 2 == 0);
    uint32_t same_a = 0, same_b = 0, senders = 0;
    for (uint32_t other = 0; other < Layout::kSize; ++other) {
      const uint32_t other_m = other % cluster_m, other_n = other / cluster_m;
      const bool in_pairs_column =
          CtaGroup == 1 ? other_m == m : other_m / CtaGroup == m / CtaGroup;
      if (other_m == m) same_a |= 1u << other;
      if (other_n == n && other_m % CtaGroup == m % CtaGroup) same_b |= 1u << other;
      if (other_n == n || in_pairs_column) senders |= 1u << other;
    }
    EXPECT_EQ(here.a_multicast_mask(), same_a) << "rank " << rank;
    EXPECT_EQ(here.b_multicast_mask(), same_b) << "rank " << rank;
    EXPECT_EQ(here.input_empty_mask(), senders) << "rank " << rank;
  }
}
TEST(ClusterLayout, MasksOfSingleCtasInEveryCluster) {
  expect_masks<1, 1, 1>();
  expect_masks<1, 2, 1>();
  expect_masks<1, 2, 2>();
  expect_masks<1, 4, 4>();
  expect_masks<1, 8, 2>();
}
TEST(ClusterLayout, MasksOfPairsInEveryCluster) {
  expect_masks<2, 2, 1>();
  expect_masks<2, 2, 2>();
  expect_masks<2, 4, 4>();
  expect_masks<2, 8, 2>();
}

// ---- EpiLoadPipeline

constexpr int kStages = 2;
using EpiLoad = EpiLoadPipeline<kStages>;

struct EpiLoadDefaults {
  struct Seen {
    BarrierState full[kStages], empty[kStages];
    int32_t full_at[kStages];
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    EpiLoad ring(barriers);
    ring.init_barriers();
    for (int stage = 0; stage < kStages; ++stage) {
      seen.full_at[stage] = ring.producer_mbar() - barriers;
      ring.producer_step();
      seen.full[stage] = complete_and_count(barriers[stage]);
      seen.empty[stage] = complete_and_count(barriers[kStages + stage]);
    }
  }
};
TEST(EpiLoadPipeline, InitBarriersCountsOneTransactionAnd128Threads) {
  const auto seen = observe<EpiLoadDefaults>(1);
  for (int stage = 0; stage < kStages; ++stage) {
    EXPECT_EQ(seen.full[stage].pending, 1u);
    EXPECT_EQ(seen.empty[stage].pending, 128u);
    EXPECT_EQ(seen.full_at[stage], stage);
  }
  EXPECT_EQ(EpiLoad::kNumBarriers, 2 * kStages);
}
static_assert(!std::is_copy_constructible_v<EpiLoad> && !std::is_copy_assignable_v<EpiLoad> &&
                  !std::is_move_constructible_v<EpiLoad>,
              "two cursors over one ring would disagree");

/// One side waits on a warp of its own; what the other side had done when the wait returned.
/// The producer waits for its second lap: on fresh barriers it passes.
template <bool producer_waits>
struct EpiLoadWait {
  struct Seen {
    uint32_t passed_before;  ///< the producer's first lap; the consumer has none
    uint32_t signalled_before;
    uint32_t stage_after;
    uint32_t other_phase_after;  ///< of the barrier that was not waited for
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    EpiLoad ring(barriers);
    if (threadIdx.x == 0) {
      ring.init_barriers(1, 1);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      uint32_t passed = 0;
      if constexpr (producer_waits) {
        for (int stage = 0; stage < kStages; ++stage) {
          ring.wait_consumer();
          ring.producer_step();
          ++passed;
        }
        ring.wait_consumer();
      } else {
        ring.wait_producer();
      }
      if (lane_index() == 0) {
        seen = {passed, signalled, producer_waits ? ring.producer_stage() : ring.consumer_stage(),
                current_phase(barriers[producer_waits ? 0 : kStages])};
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[producer_waits ? kStages : 0].arrive();
    }
  }
};
TEST(EpiLoadPipeline, WaitConsumerHoldsTheLoadWarpUntilItsSlotIsRead) {
  const auto seen = observe<EpiLoadWait<true>>(64);
  EXPECT_EQ(seen.passed_before, static_cast<uint32_t>(kStages)) << "fresh stages are empty";
  EXPECT_EQ(seen.signalled_before, 1u);
  EXPECT_EQ(seen.stage_after, 0u) << "waiting moves no index";
  EXPECT_EQ(seen.other_phase_after, 0u) << "waiting arrives nowhere";
}
TEST(EpiLoadPipeline, WaitProducerHoldsTheEpilogueUntilCIsThere) {
  const auto seen = observe<EpiLoadWait<false>>(64);
  EXPECT_EQ(seen.signalled_before, 1u);
  EXPECT_EQ(seen.stage_after, 0u) << "waiting moves no index";
  EXPECT_EQ(seen.other_phase_after, 0u) << "waiting arrives nowhere";
}

struct EpiLoadInnerPipeline {
  struct Seen {
    uint32_t inner_stage, outer_stage;
    int32_t full_at;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    EpiLoad ring(barriers);
    ring.init_barriers();
    ring.pipeline.producer_step();
    seen = {ring.pipeline.producer_stage(), ring.producer_stage(),
            static_cast<int32_t>(ring.producer_mbar() - barriers)};
  }
};
TEST(EpiLoadPipeline, ItsPipelineIsTheRingItself) {
  const auto seen = observe<EpiLoadInnerPipeline>(1);
  EXPECT_EQ(seen.inner_stage, 1u);
  EXPECT_EQ(seen.outer_stage, 1u);
  EXPECT_EQ(seen.full_at, 1);
}

/// One thread plays both sides, one member after the other: arrivals per stage, and stages.
struct EpiLoadMembers {
  static constexpr uint32_t kArrivals = 9;
  struct Seen {
    uint32_t producer_stages[4], consumer_stages[5];
    BarrierState full0, empty0, empty1;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    EpiLoad ring(barriers);
    ring.init_barriers(1, kArrivals);
    seen.producer_stages[0] = ring.producer_stage();
    {
      auto scope = ring.produce();
      scope.mbar()->arrive();  // full[0]
    }
    seen.producer_stages[1] = ring.producer_stage();
    {
      auto stage = ring.acquire_producer();
      stage.mbar()->arrive();  // full[1]
      stage.release();
    }
    seen.producer_stages[2] = ring.producer_stage();
    ring.wait_producer();
    seen.consumer_stages[0] = ring.consumer_stage();
    { auto scope = ring.consume(); }  // one arrival on empty[0]
    seen.consumer_stages[1] = ring.consumer_stage();
    { auto scope = ring.consume_explicit(); }  // none on empty[1]
    seen.consumer_stages[2] = ring.consumer_stage();
    for (uint32_t i = 1; i < kArrivals; ++i) barriers[kStages].arrive();
    ring.wait_consumer();  // empty[0] is complete: the second lap may begin
    barriers[0].arrive();
    ring.producer_step();
    seen.producer_stages[3] = ring.producer_stage();
    {
      auto stage = ring.acquire_consumer();
      stage.release();  // one arrival on empty[0], second lap
    }
    seen.consumer_stages[3] = ring.consumer_stage();
    ring.consumer_step();
    seen.consumer_stages[4] = ring.consumer_stage();
    seen.full0 = complete_and_count(barriers[0]);
    seen.empty0 = complete_and_count(barriers[kStages]);
    seen.empty1 = complete_and_count(barriers[kStages + 1]);
  }
};
TEST(EpiLoadPipeline, ProducersMembersStepAndNeverArrive) {
  const auto seen = observe<EpiLoadMembers>(1);
  const uint32_t expected[] = {0, 1, 0, 1};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(seen.producer_stages[i], expected[i]) << i;
  EXPECT_EQ(seen.full0.phase, 0u) << "two laps were signalled, once each, by the user";
  EXPECT_EQ(seen.full0.pending, 1u);
}
TEST(EpiLoadPipeline, ConsumersMembersStepAndArriveAsInChapter1) {
  const auto seen = observe<EpiLoadMembers>(1);
  const uint32_t expected[] = {0, 1, 0, 1, 0};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(seen.consumer_stages[i], expected[i]) << i;
  EXPECT_EQ(seen.empty0.phase, 1u);
  EXPECT_EQ(seen.empty0.pending, EpiLoadMembers::kArrivals - 1) << "acquire_consumer's release";
  EXPECT_EQ(seen.empty1.phase, 0u);
  EXPECT_EQ(seen.empty1.pending, EpiLoadMembers::kArrivals) << "consume_explicit arrives nowhere";
}

// ---- LoadOrderBarrier

/// The load warp runs as far ahead as its phases allow; the other warp comes late, tile by tile.
struct LoadOrder {
  static constexpr int kPhases = 3;
  static constexpr int kAhead = kPhases - 1;  ///< tiles
  struct Seen {
    uint32_t tiles_taken;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    LoadOrderBarrier<kPhases> order(barriers);
    if (threadIdx.x == 0) {
      order.init_barriers();
      seen.tiles_taken = 0;
      for (int tile = 0; tile < kAhead; ++tile) {
        order.arrive();
        order.step();
      }
      LoadOrderBarrier<kPhases> waiting(barriers);
      for (int tile = 0; tile < 4 * kPhases; ++tile) {
        order.arrive();
        order.step();
        waiting.wait();  // hangs, and faults, if the load warp had overtaken it
        waiting.step();
        ++seen.tiles_taken;
      }
    }
  }
};
TEST(LoadOrderBarrier, LetsTheLoadWarpRunTwoTilesAhead) {
  EXPECT_EQ(observe<LoadOrder>(32).tiles_taken, 4u * LoadOrder::kPhases);
  using Config = GemmConfig<traits(1, 1, 1)>;
  EXPECT_GT(Config::LoadOrder::kNumBarriers, 2);
}

struct LoadOrderWait {
  struct Seen {
    uint32_t loaded_before;  ///< when the wait for the first tile's loads returned
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t loaded;
    const LoadOrderBarrier<3> order(barriers);
    if (threadIdx.x == 0) {
      order.init_barriers();
      loaded = 0;
    }
    meet();
    if (warp_index() == 0) {
      order.wait();
      if (lane_index() == 0) seen.loaded_before = loaded;
    } else if (lane_index() == 0) {
      come_late();
      loaded = 1;
      order.arrive();
    }
  }
};
TEST(LoadOrderBarrier, WaitHoldsTheEpilogueLoadBehindTheMainLoad) {
  EXPECT_EQ(observe<LoadOrderWait>(64).loaded_before, 1u);
}

}  // namespace
}  // namespace bw::test
