/// \file
/// Contract, chapter 3: the members of OutputTilePipeline, and the values that contexts are made
/// from.
#include <type_traits>
#include <utility>

#include "solutions/03_warp_contexts/output_role_views.cuh"
#include "solutions/03_warp_contexts/output_tile_pipeline.cuh"
#include "solutions/03_warp_contexts/warp_context_types.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter03_pipeline {
namespace {

constexpr int kStages = 2;
constexpr int kStride = 64;
constexpr uint32_t kBase = 128;  ///< TMEM address; nothing here reads or writes there
template <int CtaGroup, int epilogue_threads = 128>
constexpr OutputPipelineConfig kOutput{kStages, kStride, CtaGroup, epilogue_threads};
template <int CtaGroup, int epilogue_threads = 128>
using Output = OutputTilePipeline<kOutput<CtaGroup, epilogue_threads>>;

template <int CtaGroup>
__device__ Output<CtaGroup> output_over(SharedMemBarrier* barriers) {
  using Pipeline = ProducerConsumerPipeline<kStages>;
  return Output<CtaGroup>{Pipeline(barriers), TmemAllocation<CtaGroup>{kBase},
                          mma_complete_mask<CtaGroup>(ptx::cluster_cta_rank())};
}

constexpr uint32_t kProducerArrivals = 40;
constexpr uint32_t kConsumerArrivals = 300;
constexpr unsigned kEpilogueThreads = 128;

template <int CtaGroup, int epilogue_threads = 128>
struct InitBarriers {
  struct Seen {
    BarrierState full[kStages], empty[kStages];
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    Output<CtaGroup, epilogue_threads>::init_barriers(barriers);
    for (int stage = 0; stage < kStages; ++stage) {
      seen.full[stage] = complete_and_count(barriers[stage]);
      seen.empty[stage] = complete_and_count(barriers[kStages + stage]);
    }
  }
};
TEST(OutputTilePipeline, FullCountsOneCommitEmpty128ThreadsOfEachCtaOfTheGroup) {
  const auto one = observe<InitBarriers<1>>(1);
  const auto pair = observe<InitBarriers<2>>(1);
  for (int stage = 0; stage < kStages; ++stage) {
    EXPECT_EQ(one.full[stage].pending, 1u);
    EXPECT_EQ(one.empty[stage].pending, 128u);
    EXPECT_EQ(pair.full[stage].pending, 1u);
    EXPECT_EQ(pair.empty[stage].pending, 256u);
  }
}
TEST(OutputTilePipeline, EmptyCountsBothGroupsOfEpilogueWarps) {
  const auto one = observe<InitBarriers<1, 256>>(1);
  const auto pair = observe<InitBarriers<2, 256>>(1);
  for (int stage = 0; stage < kStages; ++stage) {
    EXPECT_EQ(one.full[stage].pending, 1u);
    EXPECT_EQ(one.empty[stage].pending, 256u);
    EXPECT_EQ(pair.full[stage].pending, 1u);
    EXPECT_EQ(pair.empty[stage].pending, 512u);
  }
}

/// One side acquires stage 1 in the lap in which it has to wait; the other side signals it late.
struct AcquireSeen {
  uint32_t waited;
  uint32_t index, offset;
  uint32_t own_ring;  ///< 1: the stage points to the pipeline that it was acquired from
  uint32_t producer_stage, consumer_stage;
};
template <bool mma_side>
struct Acquire {
  using Seen = AcquireSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    auto output = output_over<1>(barriers);
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, 1);
      signalled = 0;
    }
    meet();
    constexpr int kSteps = mma_side ? kStages + 1 : 1;
    if (warp_index() == 0) {
      for (int i = 0; i < kSteps; ++i) {
        if (mma_side) {
          output.pipeline.producer_step();
        } else {
          output.pipeline.consumer_step();
        }
      }
      const auto stage = mma_side ? output.acquire_for_mma() : output.acquire_for_epilogue();
      if (lane_index() == 0) {
        seen = {signalled,
                stage.index,
                stage.tmem().offset(),
                stage.pipeline == &output.pipeline,
                output.pipeline.producer_stage(),
                output.pipeline.consumer_stage()};
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[mma_side ? kStages + 1 : 1].arrive();
    }
  }
};
TEST(OutputTilePipeline, AcquireForMmaWaitsForEmptyAndGivesTheProducersStage) {
  const AcquireSeen seen = observe<Acquire<true>>(64);
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.index, 1u);
  EXPECT_EQ(seen.offset, kBase + kStride);
  EXPECT_EQ(seen.own_ring, 1u);
  EXPECT_EQ(seen.producer_stage, 1u) << "acquiring doesn't step";
  EXPECT_EQ(seen.consumer_stage, 0u);
}
TEST(OutputTilePipeline, AcquireForEpilogueWaitsForFullAndGivesTheConsumersStage) {
  const AcquireSeen seen = observe<Acquire<false>>(64);
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.index, 1u);
  EXPECT_EQ(seen.offset, kBase + kStride);
  EXPECT_EQ(seen.own_ring, 1u);
  EXPECT_EQ(seen.producer_stage, 0u);
  EXPECT_EQ(seen.consumer_stage, 1u) << "acquiring doesn't step";
}

struct ReleaseSeen {
  uint32_t producer_stage[32];  ///< of each lane, after
  BarrierState full[kStages], empty[kStages];
};
/// The first CTA's MMA warp acquires and releases stage 0, by the members or by a producer's scope.
template <int CtaGroup, bool by_scope>
struct ReleaseFromMma {
  using Seen = ReleaseSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    auto output = output_over<CtaGroup>(barriers);
    if (threadIdx.x == 0) output.pipeline.init_barriers(kProducerArrivals, kConsumerArrivals);
    meet();
    if (ptx::cluster_cta_rank() == 0) {
      if constexpr (by_scope) {
        auto scope = output.producer().acquire();
      } else {
        const auto stage = output.acquire_for_mma();
        output.release_from_mma(stage);
      }
    }
    seen.producer_stage[threadIdx.x] = output.pipeline.producer_stage();
    come_late();  // the commits have arrived long before
    meet();
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kStages; ++stage) {
        seen.full[stage] = complete_and_count(barriers[stage]);
        seen.empty[stage] = complete_and_count(barriers[kStages + stage]);
      }
    }
    meet();
  }
};
void expect_one_commit(const ReleaseSeen& seen, bool in_this_cta) {
  EXPECT_EQ(seen.full[0].phase, 0u);
  EXPECT_EQ(seen.full[0].pending, kProducerArrivals - (in_this_cta ? 1 : 0));
  EXPECT_EQ(seen.full[1].pending, kProducerArrivals);
  for (const BarrierState& empty : seen.empty) EXPECT_EQ(empty.pending, kConsumerArrivals);
}
TEST(OutputTilePipeline, ReleaseFromMmaCommitsOnceAndAllLanesStep) {
  const auto seen = observe_cluster<ReleaseFromMma<1, false>>(2, 32);
  expect_one_commit(seen[0], true);
  expect_one_commit(seen[1], false);  // with cta_group 1, the CTA's own barrier only
  for (const uint32_t stage : seen[0].producer_stage) EXPECT_EQ(stage, 1u);
}
TEST(OutputTilePipeline, ReleaseFromMmaOfAPairCommitsInBothCtas) {
  const auto seen = observe_cluster<ReleaseFromMma<2, false>>(2, 32);
  expect_one_commit(seen[0], true);
  expect_one_commit(seen[1], true);
  for (const uint32_t stage : seen[0].producer_stage) EXPECT_EQ(stage, 1u);
}
TEST(OutputTilePipeline, ProducerScopeCommitsOnceAndStepsAtItsEnd) {
  const auto seen = observe<ReleaseFromMma<1, true>>(32);
  expect_one_commit(seen, true);
  for (const uint32_t stage : seen.producer_stage) EXPECT_EQ(stage, 1u);
}

/// How the epilogue threads of the last CTA end their use of stage 0.
enum class EpilogueEnd { kRelease, kArriveAndRelease, kScope, kScopeReleasedEarly };
struct EpilogueSeen {
  uint32_t consumer_stage[kEpilogueThreads];
  BarrierState full, empty;
};
template <int CtaGroup, EpilogueEnd end>
struct EndOfEpilogue {
  using Seen = EpilogueSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    auto output = output_over<CtaGroup>(barriers);
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, kConsumerArrivals);
      barriers[0].arrive();
    }
    meet();
    if (ptx::cluster_cta_rank() == CtaGroup - 1) {
      if constexpr (end == EpilogueEnd::kRelease || end == EpilogueEnd::kArriveAndRelease) {
        const auto stage = output.acquire_for_epilogue();
        if constexpr (end == EpilogueEnd::kArriveAndRelease) output.epilogue_arrive(stage);
        output.release_from_epilogue();
      } else {
        auto scope = output.consumer().acquire();
        if constexpr (end == EpilogueEnd::kScopeReleasedEarly) scope.release_accumulator();
        const auto owner = std::move(scope);  // what was moved from does nothing
      }
    }
    seen.consumer_stage[threadIdx.x] = output.pipeline.consumer_stage();
    meet();
    if (threadIdx.x == 0) {
      seen.full = complete_and_count(barriers[0]);
      seen.empty = complete_and_count(barriers[kStages]);
    }
    meet();
  }
};
void expect_stepped(const EpilogueSeen& seen) {
  for (const uint32_t stage : seen.consumer_stage) EXPECT_EQ(stage, 1u);
  EXPECT_EQ(seen.full.phase, 1u);
  EXPECT_EQ(seen.full.pending, 1u) << "the epilogue never signals full";
}
TEST(OutputTilePipeline, ReleaseFromEpilogueOnlySteps) {
  const auto seen = observe<EndOfEpilogue<1, EpilogueEnd::kRelease>>(kEpilogueThreads);
  expect_stepped(seen);
  EXPECT_EQ(seen.empty.pending, kConsumerArrivals);
}
TEST(OutputTilePipeline, EpilogueArriveIsOneArrivalPerThread) {
  const auto seen = observe<EndOfEpilogue<1, EpilogueEnd::kArriveAndRelease>>(kEpilogueThreads);
  expect_stepped(seen);
  EXPECT_EQ(seen.empty.pending, kConsumerArrivals - kEpilogueThreads);
}
TEST(OutputTilePipeline, EpilogueArriveOfAPairGoesToTheLeader) {
  const auto seen =
      observe_cluster<EndOfEpilogue<2, EpilogueEnd::kArriveAndRelease>>(2, kEpilogueThreads);
  expect_stepped(seen[1]);
  EXPECT_EQ(seen[0].empty.pending, kConsumerArrivals - kEpilogueThreads);
  EXPECT_EQ(seen[1].empty.pending, kConsumerArrivals);
}
TEST(OutputTilePipeline, ConsumerScopeArrivesPerThreadAndStepsAtItsEnd) {
  const auto seen = observe<EndOfEpilogue<1, EpilogueEnd::kScope>>(kEpilogueThreads);
  expect_stepped(seen);
  EXPECT_EQ(seen.empty.pending, kConsumerArrivals - kEpilogueThreads);
}
TEST(OutputTilePipeline, ConsumerScopeReleasedEarlyArrivesOnlyOnce) {
  const auto seen = observe<EndOfEpilogue<1, EpilogueEnd::kScopeReleasedEarly>>(kEpilogueThreads);
  expect_stepped(seen);
  EXPECT_EQ(seen.empty.pending, kConsumerArrivals - kEpilogueThreads);
}

struct Masks {
  struct Seen {
    uint32_t one[16], pair[16];
  };
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    for (uint32_t rank = 0; rank < 16; ++rank) {
      seen.one[rank] = mma_complete_mask<1>(rank);
      seen.pair[rank] = mma_complete_mask<2>(rank);
    }
  }
};
TEST(MmaCompleteMask, IsTheCtaOrThePairOfEveryRank) {
  const auto seen = observe<Masks>(1);
  for (uint32_t rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(seen.one[rank], 1u << rank);
    EXPECT_EQ(seen.pair[rank], 3u << (rank / 2 * 2));
  }
}

/// The types are compared in device code: nvcc can't name them in the host's.
template <int epilogue_threads>
struct TypesOfContexts {
  struct Seen {
    uint32_t tmem, pipeline, dealloc, sync;
  };
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    using Types = WarpContextTypes<kOutput<2, epilogue_threads>, 32, epilogue_threads>;
    seen = {std::is_same_v<typename Types::Tmem, TmemAllocation<2>>,
            std::is_same_v<typename Types::Pipeline, Output<2, epilogue_threads>>,
            std::is_same_v<typename Types::Dealloc, TmemDeallocBarrier<2, epilogue_threads>>,
            std::is_same_v<typename Types::Sync, WarpGroupBarrier<32 + epilogue_threads, 1>>};
  }
};
template <int epilogue_threads>
void expect_types() {
  const auto seen = observe<TypesOfContexts<epilogue_threads>>(1);
  EXPECT_EQ(seen.tmem, 1u);
  EXPECT_EQ(seen.pipeline, 1u);
  EXPECT_EQ(seen.dealloc, 1u);
  EXPECT_EQ(seen.sync, 1u);
}
TEST(WarpContextTypes, NamesTheTypesOfBothContexts) { expect_types<128>(); }
TEST(WarpContextTypes, CountsBothGroupsOfEpilogueWarps) { expect_types<256>(); }

}  // namespace
}  // namespace bw::test::chapter03_pipeline
