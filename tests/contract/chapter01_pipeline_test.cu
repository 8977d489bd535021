/// \file
/// Contract, chapter 1: the members of ProducerConsumerPipeline that are not scopes.
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter01_pipeline {
namespace {

constexpr int kStages = 3;
using Pipeline = ProducerConsumerPipeline<kStages>;

/// Arrive counts of the scenarios: more than any of them makes, so that none completes a phase
/// unintended.
constexpr uint32_t kProducerArrivals = 5;
constexpr uint32_t kConsumerArrivals = 7;

/// One thread's pipeline over fresh barriers.
__device__ Pipeline fresh(SharedMemBarrier* barriers, uint32_t producers = kProducerArrivals,
                          uint32_t consumers = kConsumerArrivals) {
  Pipeline pipeline(barriers);
  pipeline.init_barriers(producers, consumers);
  return pipeline;
}

/// Every barrier, full first: after everything else, since looking changes them.
struct AllBarriers {
  BarrierState full[kStages], empty[kStages];
};
__device__ void look_at_all(SharedMemBarrier* barriers, AllBarriers& seen) {
  for (int stage = 0; stage < kStages; ++stage) {
    seen.full[stage] = complete_and_count(barriers[stage]);
    seen.empty[stage] = complete_and_count(barriers[kStages + stage]);
  }
}
void expect_untouched(const AllBarriers& seen) {
  for (int stage = 0; stage < kStages; ++stage) {
    EXPECT_EQ(seen.full[stage].phase, 0u);
    EXPECT_EQ(seen.full[stage].pending, kProducerArrivals);
    EXPECT_EQ(seen.empty[stage].phase, 0u);
    EXPECT_EQ(seen.empty[stage].pending, kConsumerArrivals);
  }
}

struct InitBarriers {
  using Seen = AllBarriers;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    Pipeline(barriers).init_barriers(kProducerArrivals, kConsumerArrivals);
    look_at_all(barriers, seen);
  }
};
TEST(ProducerConsumerPipeline, InitBarriersCountsProducersOnFullAndConsumersOnEmpty) {
  expect_untouched(observe<InitBarriers>(1));
}

struct InitMbars {
  using Seen = AllBarriers;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    Pipeline(barriers).init_mbars(kProducerArrivals, kConsumerArrivals);
    look_at_all(barriers, seen);
  }
};
TEST(ProducerConsumerPipeline, InitMbarsIsInitBarriers) { expect_untouched(observe<InitMbars>(1)); }

/// A wait on one warp, and what the other warp had done when it returned.
struct WaitSeen {
  uint32_t signalled_before;   ///< when the wait returned; 0: it didn't wait
  uint32_t other_phase_after;  ///< of the barriers of the side that was not waited for
  uint32_t stage_after;
};

struct WaitProducer {
  using Seen = WaitSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Pipeline pipeline(barriers);
    if (threadIdx.x == 0) {
      pipeline.init_barriers(1, 1);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      pipeline.wait_producer();
      if (threadIdx.x == 0) {
        seen = {signalled, current_phase(barriers[kStages]), pipeline.consumer_stage()};
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[0].arrive();
    }
  }
};
TEST(ProducerConsumerPipeline, WaitProducerHoldsTheConsumerUntilFull) {
  const WaitSeen seen = observe<WaitProducer>(64);
  EXPECT_EQ(seen.signalled_before, 1u);
  EXPECT_EQ(seen.other_phase_after, 0u) << "waiting arrives nowhere";
  EXPECT_EQ(seen.stage_after, 0u) << "waiting moves no index";
}

struct WaitConsumerSeen {
  uint32_t passed_first_lap;  ///< on fresh barriers
  uint32_t signalled_before;  ///< on the second lap
  uint32_t stage_after;
};
struct WaitConsumer {
  using Seen = WaitConsumerSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Pipeline pipeline(barriers);
    if (threadIdx.x == 0) {
      pipeline.init_barriers(1, 1);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      uint32_t passed = 0;
      for (int stage = 0; stage < kStages; ++stage) {
        pipeline.wait_consumer();
        passed += signalled == 0;
        pipeline.producer_step();
      }
      pipeline.wait_consumer();
      if (threadIdx.x == 0) seen = {passed, signalled, pipeline.producer_stage()};
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[kStages].arrive();
    }
  }
};
TEST(ProducerConsumerPipeline, WaitConsumerPassesTheFirstLapThenHoldsTheProducerUntilEmpty) {
  const WaitConsumerSeen seen = observe<WaitConsumer>(64);
  EXPECT_EQ(seen.passed_first_lap, static_cast<uint32_t>(kStages));
  EXPECT_EQ(seen.signalled_before, 1u);
  EXPECT_EQ(seen.stage_after, 0u);
}

struct TrySeen {
  uint32_t fresh, after_other_stage, after_signal, next_stage, next_lap;
  AllBarriers barriers;
};
struct TryWaitProducer {
  using Seen = TrySeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    Pipeline pipeline = fresh(barriers, 1, 1);
    seen.fresh = pipeline.try_wait_producer();
    barriers[1].arrive();
    seen.after_other_stage = pipeline.try_wait_producer();
    barriers[0].arrive();
    seen.after_signal = pipeline.try_wait_producer();
    pipeline.consumer_step();
    seen.next_stage = pipeline.try_wait_producer();
    pipeline.consumer_step();
    pipeline.consumer_step();
    seen.next_lap = pipeline.try_wait_producer();
    look_at_all(barriers, seen.barriers);
  }
};
TEST(ProducerConsumerPipeline, TryWaitProducerTestsFullOfTheConsumersStageAndLap) {
  const TrySeen seen = observe<TryWaitProducer>(1);
  EXPECT_EQ(seen.fresh, 0u);
  EXPECT_EQ(seen.after_other_stage, 0u);
  EXPECT_EQ(seen.after_signal, 1u);
  EXPECT_EQ(seen.next_stage, 1u) << "stage 1 was signalled too";
  EXPECT_EQ(seen.next_lap, 0u) << "the second lap waits for the second phase";
  EXPECT_EQ(seen.barriers.full[0].phase, 1u);
  for (const BarrierState& empty : seen.barriers.empty) EXPECT_EQ(empty.pending, 1u);
}

struct TryWaitConsumer {
  using Seen = TrySeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    Pipeline pipeline = fresh(barriers, 1, 1);
    seen.fresh = pipeline.try_wait_consumer();
    for (int stage = 0; stage < kStages; ++stage) pipeline.producer_step();
    barriers[kStages + 1].arrive();
    seen.after_other_stage = pipeline.try_wait_consumer();
    barriers[kStages].arrive();
    seen.after_signal = pipeline.try_wait_consumer();
    pipeline.producer_step();
    seen.next_stage = pipeline.try_wait_consumer();
    pipeline.producer_step();
    pipeline.producer_step();
    seen.next_lap = pipeline.try_wait_consumer();
    look_at_all(barriers, seen.barriers);
  }
};
TEST(ProducerConsumerPipeline, TryWaitConsumerTestsEmptyOfTheProducersStageAndLap) {
  const TrySeen seen = observe<TryWaitConsumer>(1);
  EXPECT_EQ(seen.fresh, 1u) << "the producer's first lap passes at once";
  EXPECT_EQ(seen.after_other_stage, 0u);
  EXPECT_EQ(seen.after_signal, 1u);
  EXPECT_EQ(seen.next_stage, 1u);
  EXPECT_EQ(seen.next_lap, 0u);
  for (const BarrierState& full : seen.barriers.full) EXPECT_EQ(full.pending, 1u);
}

/// `wait_*_if_needed(ready)` on a stage that becomes ready late.
template <bool producer_side, bool is_ready>
struct WaitIfNeeded {
  struct Seen {
    uint32_t signalled_before;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Pipeline pipeline(barriers);
    if (threadIdx.x == 0) {
      pipeline.init_barriers(1, 1);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      if constexpr (producer_side) {
        for (int stage = 0; stage < kStages; ++stage) pipeline.producer_step();
        pipeline.wait_consumer_if_needed(is_ready);
      } else {
        pipeline.wait_producer_if_needed(is_ready);
      }
      if (threadIdx.x == 0) seen.signalled_before = signalled;
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[producer_side ? kStages : 0].arrive();
    }
  }
};
TEST(ProducerConsumerPipeline, WaitProducerIfNeededWaitsOnlyWhenNotReady) {
  EXPECT_EQ((observe<WaitIfNeeded<false, false>>(64).signalled_before), 1u);
  EXPECT_EQ((observe<WaitIfNeeded<false, true>>(64).signalled_before), 0u);
}
TEST(ProducerConsumerPipeline, WaitConsumerIfNeededWaitsOnlyWhenNotReady) {
  EXPECT_EQ((observe<WaitIfNeeded<true, false>>(64).signalled_before), 1u);
  EXPECT_EQ((observe<WaitIfNeeded<true, true>>(64).signalled_before), 0u);
}

struct MbarSeen {
  int32_t full[kStages], empty[kStages];
};
struct Mbars {
  using Seen = MbarSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    const Pipeline pipeline(barriers);
    for (int stage = 0; stage < kStages; ++stage) {
      seen.full[stage] = pipeline.producer_mbar(stage) - barriers;
      seen.empty[stage] = pipeline.consumer_mbar(stage) - barriers;
    }
  }
};
TEST(ProducerConsumerPipeline, ProducerMbarIsFull) {
  const MbarSeen seen = observe<Mbars>(1);
  for (int stage = 0; stage < kStages; ++stage) EXPECT_EQ(seen.full[stage], stage);
}
TEST(ProducerConsumerPipeline, ConsumerMbarIsEmptyBehindAllFull) {
  const MbarSeen seen = observe<Mbars>(1);
  for (int stage = 0; stage < kStages; ++stage) EXPECT_EQ(seen.empty[stage], kStages + stage);
}

constexpr int kSteps = 2 * kStages + 1;
struct StepSeen {
  uint32_t producer[kSteps + 1], consumer[kSteps + 1];  ///< stages before each step, and after all
  AllBarriers barriers;
};
template <bool producer_side>
struct Steps {
  using Seen = StepSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    Pipeline pipeline = fresh(barriers);
    for (int i = 0; i <= kSteps; ++i) {
      seen.producer[i] = pipeline.producer_stage();
      seen.consumer[i] = pipeline.consumer_stage();
      if (i == kSteps) break;
      if (producer_side) {
        pipeline.producer_step();
      } else {
        pipeline.consumer_step();
      }
    }
    look_at_all(barriers, seen.barriers);
  }
};
TEST(ProducerConsumerPipeline, ProducerStageStartsAtZeroAndGoesRound) {
  const StepSeen seen = observe<Steps<true>>(1);
  for (uint32_t i = 0; i <= kSteps; ++i) EXPECT_EQ(seen.producer[i], i % kStages);
}
TEST(ProducerConsumerPipeline, ConsumerStageStartsAtZeroAndGoesRound) {
  const StepSeen seen = observe<Steps<false>>(1);
  for (uint32_t i = 0; i <= kSteps; ++i) EXPECT_EQ(seen.consumer[i], i % kStages);
}
TEST(ProducerConsumerPipeline, ProducerStepNeverArrivesAndLeavesTheConsumer) {
  const StepSeen seen = observe<Steps<true>>(1);
  expect_untouched(seen.barriers);
  for (const uint32_t stage : seen.consumer) EXPECT_EQ(stage, 0u);
}
TEST(ProducerConsumerPipeline, ConsumerStepNeverArrivesAndLeavesTheProducer) {
  const StepSeen seen = observe<Steps<false>>(1);
  expect_untouched(seen.barriers);
  for (const uint32_t stage : seen.producer) EXPECT_EQ(stage, 0u);
}

struct SignalSeen {
  uint32_t waited;  ///< 1: came back only after the other side's arrival
  uint32_t producer_stage, consumer_stage;
  BarrierState signalled_barrier;
};
/// The second lap of the producer: it must wait for empty[0], then signal full[0].
struct ProducerSignalAndStep {
  using Seen = SignalSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Pipeline pipeline(barriers);
    if (threadIdx.x == 0) {
      pipeline.init_barriers(kProducerArrivals, 1);
      signalled = 0;
    }
    meet();
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kStages; ++stage) pipeline.producer_step();
      pipeline.producer_signal_and_step();
      seen = {signalled, pipeline.producer_stage(), pipeline.consumer_stage(),
              complete_and_count(barriers[0])};
    } else if (threadIdx.x == 32) {
      come_late();
      signalled = 1;
      barriers[kStages].arrive();
    }
  }
};
TEST(ProducerConsumerPipeline, ProducerSignalAndStepWaitsForEmptyArrivesOnFullSteps) {
  const SignalSeen seen = observe<ProducerSignalAndStep>(64);
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.producer_stage, 1u);
  EXPECT_EQ(seen.consumer_stage, 0u);
  EXPECT_EQ(seen.signalled_barrier.pending, kProducerArrivals - 1);
}

struct ConsumerSignalAndStep {
  using Seen = SignalSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Pipeline pipeline(barriers);
    if (threadIdx.x == 0) {
      pipeline.init_barriers(1, kConsumerArrivals);
      signalled = 0;
    }
    meet();
    if (threadIdx.x == 0) {
      pipeline.consumer_signal_and_step();
      seen = {signalled, pipeline.producer_stage(), pipeline.consumer_stage(),
              complete_and_count(barriers[kStages])};
    } else if (threadIdx.x == 32) {
      come_late();
      signalled = 1;
      barriers[0].arrive();
    }
  }
};
TEST(ProducerConsumerPipeline, ConsumerSignalAndStepWaitsForFullArrivesOnEmptySteps) {
  const SignalSeen seen = observe<ConsumerSignalAndStep>(64);
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.producer_stage, 0u);
  EXPECT_EQ(seen.consumer_stage, 1u);
  EXPECT_EQ(seen.signalled_barrier.pending, kConsumerArrivals - 1);
}

}  // namespace
}  // namespace bw::test::chapter01_pipeline
