/// \file
/// Contract, chapter 1: the scopes and handles of ProducerConsumerPipeline.
#include <type_traits>
#include <utility>

#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter01_scopes {
namespace {

constexpr int kStages = 2;
using Pipeline = ProducerConsumerPipeline<kStages>;
constexpr uint32_t kArrivals = 40;  ///< more than one warp makes

template <class Stage>
constexpr bool kMoveOnly =
    !std::is_copy_constructible_v<Stage> && std::is_move_constructible_v<Stage>;
static_assert(kMoveOnly<ProduceContext<Pipeline>> && kMoveOnly<ConsumeContext<Pipeline>> &&
                  kMoveOnly<ExplicitConsumeContext<Pipeline>> &&
                  kMoveOnly<ProducerStage<Pipeline>> && kMoveOnly<ConsumerStage<Pipeline>>,
              "scopes and handles end once, so that they can't be copied");

/// How a warp ends its use of a stage.
enum class Use {
  kProduce,
  kConsume,
  kConsumeExplicit,
  kAcquireProducer,
  kAcquireConsumer,
  kAcquireConsumerArriveOnly,
  kAcquireConsumerWithoutSignal,
};
constexpr bool is_producer(Use use) { return use == Use::kProduce || use == Use::kAcquireProducer; }

struct ScopeSeen {
  uint32_t waited;           ///< 1: entered only after the other side had signalled
  uint32_t index;            ///< of the scope
  int32_t mbar;              ///< of the scope, counted from the first barrier; -1: it has none
  uint32_t stage_inside;     ///< of the pipeline's side, while the scope lived
  uint32_t stage_after;      ///< after its end
  uint32_t other_stage;      ///< of the other side, after its end
  BarrierState full, empty;  ///< of the scope's stage, after its end
};

/// One warp uses stage 1 in the lap in which it has to wait; another warp signals it late, once.
template <Use use>
struct ScopeOfStage {
  using Seen = ScopeSeen;

  static __device__ uint32_t stage_of(const Pipeline& pipeline) {
    return is_producer(use) ? pipeline.producer_stage() : pipeline.consumer_stage();
  }

  template <class Scope>
  static __device__ void look_inside(const Pipeline& pipeline, const Scope& scope,
                                     const SharedMemBarrier* barriers, uint32_t signalled,
                                     Seen& seen) {
    if (lane_index() != 0) return;
    seen.waited = signalled;
    seen.index = scope.index();
    seen.stage_inside = stage_of(pipeline);
    if constexpr (use == Use::kConsume) {
      seen.mbar = -1;
    } else {
      seen.mbar = scope.mbar() - barriers;
    }
  }

  static __device__ void use_stage(Pipeline& pipeline, const SharedMemBarrier* barriers,
                                   volatile uint32_t& signalled, Seen& seen) {
    // Each is handed to another owner before it ends: what was moved from does nothing.
    if constexpr (use == Use::kProduce) {
      auto scope = pipeline.produce();
      look_inside(pipeline, scope, barriers, signalled, seen);
      const auto owner = std::move(scope);
    } else if constexpr (use == Use::kConsume) {
      auto scope = pipeline.consume();
      look_inside(pipeline, scope, barriers, signalled, seen);
      const auto owner = std::move(scope);
    } else if constexpr (use == Use::kConsumeExplicit) {
      auto scope = pipeline.consume_explicit();
      look_inside(pipeline, scope, barriers, signalled, seen);
      const auto owner = std::move(scope);
    } else if constexpr (use == Use::kAcquireProducer) {
      auto stage = pipeline.acquire_producer();
      look_inside(pipeline, stage, barriers, signalled, seen);
      auto owner = std::move(stage);
      owner.release();
    } else {
      auto stage = pipeline.acquire_consumer();
      look_inside(pipeline, stage, barriers, signalled, seen);
      auto owner = std::move(stage);
      if constexpr (use == Use::kAcquireConsumer) owner.release();
      if constexpr (use == Use::kAcquireConsumerArriveOnly) owner.arrive();
      if constexpr (use != Use::kAcquireConsumer) owner.release_without_signal();
    }
  }

  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Pipeline pipeline(barriers);
    if (threadIdx.x == 0) {
      pipeline.init_barriers(is_producer(use) ? kArrivals : 1, is_producer(use) ? 1 : kArrivals);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      if (is_producer(use)) {
        for (int i = 0; i < kStages + 1; ++i) pipeline.producer_step();
      } else {
        pipeline.consumer_step();
      }
      use_stage(pipeline, barriers, signalled, seen);
      __syncwarp();
      if (lane_index() == 0) {
        seen.stage_after = stage_of(pipeline);
        seen.other_stage = is_producer(use) ? pipeline.consumer_stage() : pipeline.producer_stage();
        seen.full = complete_and_count(barriers[1]);
        seen.empty = complete_and_count(barriers[kStages + 1]);
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[is_producer(use) ? kStages + 1 : 1].arrive();
    }
  }
};

template <Use use>
ScopeSeen observe_scope() {
  const ScopeSeen seen = observe<ScopeOfStage<use>>(64);
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.index, 1u);
  EXPECT_EQ(seen.stage_inside, 1u) << "the index moves at the end";
  EXPECT_EQ(seen.stage_after, 0u) << "after stage 1 of 2 comes stage 0";
  EXPECT_EQ(seen.other_stage, 0u);
  return seen;
}

constexpr int32_t kFullOfStage1 = 1;
constexpr int32_t kEmptyOfStage1 = kStages + 1;

TEST(ProducerConsumerPipeline, ProduceWaitsForEmptyAndOnlySteps) {
  const ScopeSeen seen = observe_scope<Use::kProduce>();
  EXPECT_EQ(seen.mbar, kFullOfStage1);
  EXPECT_EQ(seen.full.phase, 0u);
  EXPECT_EQ(seen.full.pending, kArrivals) << "the user signals full";
}

TEST(ProducerConsumerPipeline, ConsumeWaitsForFullAndEveryThreadArrives) {
  const ScopeSeen seen = observe_scope<Use::kConsume>();
  EXPECT_EQ(seen.empty.phase, 0u);
  EXPECT_EQ(seen.empty.pending, kArrivals - 32);
}

TEST(ProducerConsumerPipeline, ConsumeExplicitWaitsForFullAndOnlySteps) {
  const ScopeSeen seen = observe_scope<Use::kConsumeExplicit>();
  EXPECT_EQ(seen.mbar, kEmptyOfStage1);
  EXPECT_EQ(seen.empty.phase, 0u);
  EXPECT_EQ(seen.empty.pending, kArrivals) << "the user signals empty";
}

TEST(ProducerConsumerPipeline, AcquireProducerWaitsForEmptyAndReleaseSteps) {
  const ScopeSeen seen = observe_scope<Use::kAcquireProducer>();
  EXPECT_EQ(seen.mbar, kFullOfStage1);
  EXPECT_EQ(seen.full.phase, 0u);
  EXPECT_EQ(seen.full.pending, kArrivals);
}

TEST(ProducerConsumerPipeline, AcquireConsumerWaitsForFullAndReleaseArrivesAndSteps) {
  const ScopeSeen seen = observe_scope<Use::kAcquireConsumer>();
  EXPECT_EQ(seen.mbar, kEmptyOfStage1);
  EXPECT_EQ(seen.empty.pending, kArrivals - 32);
}

TEST(ConsumerStage, ArriveIsOneArrivalPerThread) {
  EXPECT_EQ(observe_scope<Use::kAcquireConsumerArriveOnly>().empty.pending, kArrivals - 32);
}

TEST(ConsumerStage, ReleaseWithoutSignalOnlySteps) {
  EXPECT_EQ(observe_scope<Use::kAcquireConsumerWithoutSignal>().empty.pending, kArrivals);
}

}  // namespace
}  // namespace bw::test::chapter01_scopes
