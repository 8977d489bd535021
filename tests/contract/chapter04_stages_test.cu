/// \file
/// Contract, chapter 4: one K block as the MMA warp and as the epilogue see it (MmaKStage,
/// EpilogueKStage, EpilogueKContext, OutputTilePipeline::per_k).
#include <type_traits>
#include <utility>

#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/04_per_k_contexts/output_k_pipeline.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter04_stages {
namespace {

constexpr int kOutputStages = 2, kInputStages = 3;
constexpr int kStride = 64;
constexpr uint32_t kBase = 128;  ///< TMEM address; nothing here reads or writes there
template <int CtaGroup, int epilogue_threads = 128>
constexpr OutputPipelineConfig kOutput{kOutputStages, kStride, CtaGroup, epilogue_threads};
template <int CtaGroup, int epilogue_threads = 128>
using Output = OutputTilePipeline<kOutput<CtaGroup, epilogue_threads>>;
using Input = ProducerConsumerPipeline<kInputStages>;
constexpr uint32_t kArrivals = 300;  ///< more than all threads make
constexpr unsigned kEpilogueThreads = 128;
constexpr int kInputBarriers = 2 * kOutputStages;  ///< they follow those of the accumulators

template <int CtaGroup, int epilogue_threads = 128>
__device__ Output<CtaGroup, epilogue_threads> output_over(SharedMemBarrier* barriers) {
  return {ProducerConsumerPipeline<kOutputStages>(barriers), TmemAllocation<CtaGroup>{kBase},
          mma_complete_mask<CtaGroup>(ptx::cluster_cta_rank())};
}

// ---- MmaKStage

/// The maker of the stage: the type itself, or OutputTilePipeline::per_k().
enum class Maker { kStage, kPerK };
template <Maker maker, OutputPipelineConfig opc>
__device__ auto make_mma_stage(OutputTilePipeline<opc>& output) {
  if constexpr (maker == Maker::kStage) return MmaKStage<opc>(output);
  if constexpr (maker == Maker::kPerK) return output.per_k().produce();
}

struct MmaEnterSeen {
  uint32_t waited;
  uint32_t index, offset;
  uint32_t stage_inside;
};
/// The MMA warp takes stage 1 in the lap in which it has to wait; another warp signals it late.
template <Maker maker>
struct MmaEnter {
  using Seen = MmaEnterSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    auto output = output_over<1>(barriers);
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, 1);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      for (int i = 0; i < kOutputStages + 1; ++i) output.pipeline.producer_step();
      const auto k_stage = make_mma_stage<maker>(output);
      if (lane_index() == 0) {
        seen = {signalled, k_stage.stage().index, k_stage.stage().tmem().offset(),
                output.pipeline.producer_stage()};
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[kOutputStages + 1].arrive();
    }
  }
};
void expect_mma_enter(const MmaEnterSeen& seen) {
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.index, 1u);
  EXPECT_EQ(seen.offset, kBase + kStride);
  EXPECT_EQ(seen.stage_inside, 1u) << "the index moves at the end";
}
TEST(MmaKStage, EnterWaitsForAccumulatorEmptyAndGivesTheStage) {
  expect_mma_enter(observe<MmaEnter<Maker::kStage>>(64));
}
TEST(OutputTilePipeline, PerKProduceWaitsForAccumulatorEmpty) {
  expect_mma_enter(observe<MmaEnter<Maker::kPerK>>(64));
}

struct MmaExitSeen {
  uint32_t producer_stage[32];  ///< of each lane, after
  BarrierState full[kOutputStages], empty[kOutputStages];
};
/// The first CTA's MMA warp takes stage 0, hands its scope on, and ends it.
template <int CtaGroup, Maker maker>
struct MmaExit {
  using Seen = MmaExitSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    auto output = output_over<CtaGroup>(barriers);
    if (threadIdx.x == 0) output.pipeline.init_barriers(2, kArrivals);
    meet();
    if (ptx::cluster_cta_rank() == 0) {
      auto k_stage = make_mma_stage<maker>(output);
      const auto owner = std::move(k_stage);
    }
    seen.producer_stage[threadIdx.x] = output.pipeline.producer_stage();
    come_late();  // the commits have arrived long before
    meet();
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kOutputStages; ++stage) {
        seen.full[stage] = complete_and_count(barriers[stage]);
        seen.empty[stage] = complete_and_count(barriers[kOutputStages + stage]);
      }
    }
    meet();
  }
};
void expect_commits(const MmaExitSeen& seen, uint32_t commits) {
  EXPECT_EQ(seen.full[0].phase, 0u);
  EXPECT_EQ(seen.full[0].pending, 2 - commits);
  EXPECT_EQ(seen.full[1].pending, 2u);
  for (const BarrierState& empty : seen.empty) EXPECT_EQ(empty.pending, kArrivals);
}
TEST(MmaKStage, ExitIsOneCommitAndAllLanesStep) {
  const auto seen = observe_cluster<MmaExit<1, Maker::kStage>>(2, 32);
  expect_commits(seen[0], 1);
  expect_commits(seen[1], 0);
  for (const uint32_t stage : seen[0].producer_stage) EXPECT_EQ(stage, 1u);
}
TEST(MmaKStage, ExitOfAPairCommitsInBothCtas) {
  const auto seen = observe_cluster<MmaExit<2, Maker::kStage>>(2, 32);
  expect_commits(seen[0], 1);
  expect_commits(seen[1], 1);
  for (const uint32_t stage : seen[0].producer_stage) EXPECT_EQ(stage, 1u);
}
TEST(OutputTilePipeline, PerKProduceCommitsOnceAndStepsAtItsEnd) {
  const auto seen = observe<MmaExit<1, Maker::kPerK>>(32);
  expect_commits(seen, 1);
  for (const uint32_t stage : seen.producer_stage) EXPECT_EQ(stage, 1u);
}

// ---- OutputTilePipeline::per_k().consume()

struct PerKConsumeSeen {
  uint32_t waited, index, offset;
  uint32_t consumer_stage[kEpilogueThreads];
  BarrierState full, empty;
};
/// The epilogue takes stage 0, which a fifth warp signals late.
template <bool released_early>
struct PerKConsume {
  using Seen = PerKConsumeSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    auto output = output_over<1>(barriers);
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, kArrivals);
      signalled = 0;
    }
    meet();
    if (threadIdx.x < kEpilogueThreads) {
      {
        auto k_stage = output.per_k().consume();
        if (threadIdx.x == 0) {
          seen.waited = signalled;
          seen.index = k_stage.stage().index;
          seen.offset = k_stage.tmem().offset();
        }
        if constexpr (released_early) k_stage.release_accumulator();
      }
      seen.consumer_stage[threadIdx.x] = output.pipeline.consumer_stage();
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[0].arrive();
    }
    meet();
    if (threadIdx.x == 0) {
      seen.full = complete_and_count(barriers[0]);
      seen.empty = complete_and_count(barriers[kOutputStages]);
    }
  }
};
void expect_consumed(const PerKConsumeSeen& seen) {
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.index, 0u);
  EXPECT_EQ(seen.offset, kBase);
  for (const uint32_t stage : seen.consumer_stage) EXPECT_EQ(stage, 1u);
  EXPECT_EQ(seen.full.phase, 1u);
  EXPECT_EQ(seen.full.pending, 1u);
  EXPECT_EQ(seen.empty.pending, kArrivals - kEpilogueThreads);
}
TEST(OutputTilePipeline, PerKConsumeWaitsForFullArrivesPerThreadAndSteps) {
  expect_consumed(observe<PerKConsume<false>>(160));
}
TEST(OutputTilePipeline, PerKConsumeReleasedEarlyArrivesOnlyOnce) {
  expect_consumed(observe<PerKConsume<true>>(160));
}

// ---- EpilogueKContext

using Context = EpilogueKContext<kOutput<2>, kInputStages>;
static_assert(Context::cta_group == 2 && EpilogueKContext<kOutput<1>, 3>::cta_group == 1,
              "cta_group is that of the output pipeline");
static_assert(Context::num_output_stages == kOutputStages, "the accumulators in TMEM");
/// The stages that the epilogue of these tests is at.
constexpr uint32_t kInputStage = 2, kOutputStage = 1;
constexpr int kInputFull = kInputBarriers + kInputStage;
constexpr int kInputEmpty = kInputFull + kInputStages;

template <OutputPipelineConfig opc>
__device__ void go_to_stages(OutputTilePipeline<opc>& output, Input& input) {
  for (uint32_t i = 0; i < kInputStage; ++i) input.consumer_step();
  for (uint32_t i = 0; i < kOutputStage; ++i) output.pipeline.consumer_step();
}

/// What comes late: the other one is there from the beginning.
enum class Late { kAccumulator, kInput };
struct EnterSeen {
  uint32_t waited;
  uint32_t output_index, offset, input_index;  ///< of the stage
  uint32_t context_output_index, context_input_index;
  uint32_t own_pipelines;      ///< 1: the stage points to the pipelines it was made from
  uint32_t context_pipelines;  ///< 1: so does the context
  uint32_t output_stage_inside, input_stage_inside;
};
/// Its types, checked in device code: nvcc can't name them in the host's.
__device__ void names_its_types() {
  static_assert(
      std::is_same_v<Context::CombinedStageType, EpilogueKStage<kOutput<2>, kInputStages>> &&
          std::is_same_v<Context::InputPipelineType, Input> &&
          std::is_same_v<Context::OutputPipelineType, Output<2>> &&
          std::is_same_v<Context::OutputStageType, OutputStage<kOutput<2>>>,
      "the contract's aliases");
  static_assert(!std::is_copy_constructible_v<Context> && std::is_move_constructible_v<Context>,
                "scopes end once, so that they can't be copied");
}
template <int CtaGroup, Late late>
struct Enter {
  using Seen = EnterSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    names_its_types();
    auto output = output_over<CtaGroup>(barriers);
    Input input(barriers + kInputBarriers);
    constexpr int kFirst = late == Late::kAccumulator ? kInputFull : kOutputStage;
    constexpr int kSecond = late == Late::kAccumulator ? kOutputStage : kInputFull;
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, kArrivals);
      input.init_barriers(1, kArrivals);
      barriers[kFirst].arrive();
      signalled = 0;
    }
    meet();
    if (threadIdx.x < kEpilogueThreads) {
      go_to_stages(output, input);
      EpilogueKContext<kOutput<CtaGroup>, kInputStages> context(output, input);
      const auto& stage = context.stage();
      if (threadIdx.x == 0) {
        seen = {signalled,
                stage.output_stage.index,
                stage.output_stage.tmem().offset(),
                stage.input_stage_index,
                context.output_stage().index,
                context.input_stage_index(),
                stage.input_pipeline == &input && stage.output_stage.pipeline == &output.pipeline,
                context.output_pipeline_ptr() == &output && context.input_pipeline_ptr() == &input,
                output.pipeline.consumer_stage(),
                input.consumer_stage()};
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[kSecond].arrive();
    }
    meet();
  }
};
void expect_entered(const EnterSeen& seen) {
  EXPECT_EQ(seen.output_index, kOutputStage);
  EXPECT_EQ(seen.offset, kBase + kOutputStage * kStride);
  EXPECT_EQ(seen.input_index, kInputStage);
  EXPECT_EQ(seen.context_output_index, kOutputStage);
  EXPECT_EQ(seen.context_input_index, kInputStage);
  EXPECT_EQ(seen.own_pipelines, 1u);
  EXPECT_EQ(seen.context_pipelines, 1u);
  EXPECT_EQ(seen.output_stage_inside, kOutputStage) << "indices move at the end";
  EXPECT_EQ(seen.input_stage_inside, kInputStage);
}
TEST(EpilogueKContext, EnterWaitsForAccumulatorFullAndTakesBothStages) {
  const EnterSeen seen = observe<Enter<1, Late::kAccumulator>>(160);
  EXPECT_EQ(seen.waited, 1u);
  expect_entered(seen);
}
TEST(EpilogueKContext, EnterWaitsForTheInputThatItReadsItself) {
  EXPECT_EQ((observe<Enter<1, Late::kInput>>(160).waited), 1u);
}
TEST(EpilogueKContext, EnterOfAPairWaitsForAccumulatorFullInEachCta) {
  for (const EnterSeen& seen : observe_cluster<Enter<2, Late::kAccumulator>>(2, 160)) {
    EXPECT_EQ(seen.waited, 1u);
    expect_entered(seen);
  }
}
TEST(EpilogueKContext, EnterOfAPairLeavesTheInputsWaitToTheLeadersMmaWarp) {
  for (const EnterSeen& seen : observe_cluster<Enter<2, Late::kInput>>(2, 160)) {
    EXPECT_EQ(seen.waited, 0u);
  }
}

/// What the epilogue does inside the scope.
enum class Inside { kNothing, kReleaseAccumulator, kArriveInput, kMove };
template <int epilogue_threads>
struct ExitSeen {
  uint32_t output_stage[epilogue_threads], input_stage[epilogue_threads];
  uint32_t producer_stages;  ///< of both pipelines, added
  BarrierState output_full, output_empty, input_full, input_empty;
  BarrierState other_output_empty, other_input_empty;  ///< of the stages before
};
/// The epilogue of the last CTA takes its stages, which are ready, and ends its scope.
template <int CtaGroup, Inside inside, int epilogue_threads = 128>
struct Exit {
  using Seen = ExitSeen<epilogue_threads>;
  static __device__ void use_stages(Output<CtaGroup, epilogue_threads>& output, Input& input) {
    EpilogueKContext<kOutput<CtaGroup, epilogue_threads>, kInputStages> context(output, input);
    if constexpr (inside == Inside::kReleaseAccumulator) context.stage().release_accumulator();
    if constexpr (inside == Inside::kArriveInput) context.stage().arrive_input();
    if constexpr (inside == Inside::kMove) auto owner = std::move(context);
  }
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    auto output = output_over<CtaGroup, epilogue_threads>(barriers);
    Input input(barriers + kInputBarriers);
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, kArrivals);
      input.init_barriers(1, kArrivals);
      barriers[kOutputStage].arrive();
      barriers[kInputFull].arrive();
    }
    meet();
    go_to_stages(output, input);
    if (ptx::cluster_cta_rank() == CtaGroup - 1) use_stages(output, input);
    seen.output_stage[threadIdx.x] = output.pipeline.consumer_stage();
    seen.input_stage[threadIdx.x] = input.consumer_stage();
    meet();
    if (threadIdx.x == 0) {
      seen.producer_stages = output.pipeline.producer_stage() + input.producer_stage();
      seen.output_full = complete_and_count(barriers[kOutputStage]);
      seen.input_full = complete_and_count(barriers[kInputFull]);
      seen.output_empty = complete_and_count(barriers[kOutputStages + kOutputStage]);
      seen.input_empty = complete_and_count(barriers[kInputEmpty]);
      seen.other_output_empty = complete_and_count(barriers[kOutputStages + kOutputStage - 1]);
      seen.other_input_empty = complete_and_count(barriers[kInputEmpty - 1]);
    }
    meet();
  }
};
template <int epilogue_threads>
void expect_left(const ExitSeen<epilogue_threads>& seen) {
  for (const uint32_t stage : seen.output_stage) EXPECT_EQ(stage, 0u) << "after stage 1 of 2";
  for (const uint32_t stage : seen.input_stage) EXPECT_EQ(stage, 0u) << "after stage 2 of 3";
  EXPECT_EQ(seen.producer_stages, 0u);
  EXPECT_EQ(seen.output_full.pending, 1u) << "the epilogue never signals full";
  EXPECT_EQ(seen.input_full.pending, 1u);
  EXPECT_EQ(seen.other_output_empty.pending, kArrivals);
  EXPECT_EQ(seen.other_input_empty.pending, kArrivals);
}
TEST(EpilogueKContext, ExitArrivesPerThreadOnAccumulatorEmptyAndStepsBoth) {
  const auto seen = observe<Exit<1, Inside::kNothing>>(kEpilogueThreads);
  expect_left(seen);
  EXPECT_EQ(seen.output_empty.phase, 0u);
  EXPECT_EQ(seen.output_empty.pending, kArrivals - kEpilogueThreads);
  EXPECT_EQ(seen.input_empty.pending, kArrivals) << "the A-scales are arrive_input()'s";
}
TEST(EpilogueKContext, ExitOfThePeerArrivesOnTheLeader) {
  const auto seen = observe_cluster<Exit<2, Inside::kNothing>>(2, kEpilogueThreads);
  expect_left(seen[1]);
  EXPECT_EQ(seen[0].output_empty.pending, kArrivals - kEpilogueThreads);
  EXPECT_EQ(seen[1].output_empty.pending, kArrivals);
  for (const auto& cta : seen) EXPECT_EQ(cta.input_empty.pending, kArrivals);
}
TEST(EpilogueKContext, ExitAfterAMoveSignalsOnce) {
  const auto seen = observe<Exit<1, Inside::kMove>>(kEpilogueThreads);
  expect_left(seen);
  EXPECT_EQ(seen.output_empty.pending, kArrivals - kEpilogueThreads);
}
TEST(EpilogueKStage, ReleaseAccumulatorTakesTheArrivalOfTheExitInAdvance) {
  const auto seen = observe<Exit<1, Inside::kReleaseAccumulator>>(kEpilogueThreads);
  expect_left(seen);
  EXPECT_EQ(seen.output_empty.pending, kArrivals - kEpilogueThreads);
}
TEST(EpilogueKStage, ArriveInputIsOneArrivalPerWarpOnItsStagesEmpty) {
  const auto seen = observe<Exit<1, Inside::kArriveInput>>(kEpilogueThreads);
  expect_left(seen);
  EXPECT_EQ(seen.input_empty.phase, 0u);
  EXPECT_EQ(seen.input_empty.pending, kArrivals - kEpilogueThreads / 32);
}
TEST(EpilogueKStage, ArriveInputOfAPairStaysInTheCta) {
  const auto seen = observe_cluster<Exit<2, Inside::kArriveInput>>(2, kEpilogueThreads);
  expect_left(seen[1]);
  EXPECT_EQ(seen[0].input_empty.pending, kArrivals);
  EXPECT_EQ(seen[1].input_empty.pending, kArrivals - kEpilogueThreads / 32);
}
TEST(EpilogueKContext, ExitOfTwoEpilogueGroupsArrivesPerThread) {
  const auto one = observe<Exit<1, Inside::kNothing, 256>>(256);
  expect_left(one);
  EXPECT_EQ(one.output_empty.pending, kArrivals - 256);
  const auto pair = observe_cluster<Exit<2, Inside::kNothing, 256>>(2, 256);
  expect_left(pair[1]);
  EXPECT_EQ(pair[0].output_empty.pending, kArrivals - 256);
  EXPECT_EQ(pair[1].output_empty.pending, kArrivals);
}
TEST(EpilogueKStage, ArriveInputOfTwoEpilogueGroupsIsOneArrivalPerWarp) {
  const auto seen = observe<Exit<1, Inside::kArriveInput, 256>>(256);
  expect_left(seen);
  EXPECT_EQ(seen.input_empty.pending, kArrivals - 256 / 32);
}

/// `arrive_input` signals inside the scope already, and without stepping.
struct ArriveInputEarly {
  struct Seen {
    uint32_t phase_before, phase_after, input_stage, output_stage;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    auto output = output_over<1>(barriers);
    Input input(barriers + kInputBarriers);
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, kEpilogueThreads);
      input.init_barriers(1, kEpilogueThreads / 32);
      barriers[kOutputStage].arrive();
      barriers[kInputFull].arrive();
    }
    meet();
    go_to_stages(output, input);
    EpilogueKContext<kOutput<1>, kInputStages> context(output, input);
    if (threadIdx.x == 0) seen.phase_before = current_phase(barriers[kInputEmpty]);
    __syncthreads();
    context.stage().arrive_input();
    __syncthreads();
    if (threadIdx.x == 0) {
      seen.phase_after = current_phase(barriers[kInputEmpty]);
      seen.input_stage = input.consumer_stage();
      seen.output_stage = output.pipeline.consumer_stage();
    }
  }
};
TEST(EpilogueKStage, ArriveInputSignalsAtOnceAndDoesNotStep) {
  const auto seen = observe<ArriveInputEarly>(kEpilogueThreads);
  EXPECT_EQ(seen.phase_before, 0u);
  EXPECT_EQ(seen.phase_after, 1u) << "four warps complete it";
  EXPECT_EQ(seen.input_stage, kInputStage);
  EXPECT_EQ(seen.output_stage, kOutputStage);
}

/// One warp takes the K blocks of an input stage that holds two. Input stage 1 is never filled.
struct EpilogueBlocksOfAStage {
  struct Seen {
    uint32_t input_stage_inside[2];
    uint32_t input_stage_after[3], output_stage_after[3];
    BarrierState empty_of_first_stage, empty_of_second_stage;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    auto output = output_over<1>(barriers);
    Input input(barriers + kInputBarriers);
    using Context = EpilogueKContext<kOutput<1>, kInputStages>;
    if (threadIdx.x == 0) {
      output.pipeline.init_barriers(1, kArrivals);
      input.init_barriers(1, kArrivals);
      for (int stage = 0; stage < kOutputStages; ++stage) barriers[stage].arrive();
      barriers[kInputBarriers].arrive();
    }
    meet();
    Seen own{};
    const auto look_after = [&](int block) {
      own.input_stage_after[block] = input.consumer_stage();
      own.output_stage_after[block] = output.pipeline.consumer_stage();
    };
    for (uint32_t block = 0; block < 2; ++block) {
      {
        Context context(output, input, {.index = block, .is_last = block == 1});
        own.input_stage_inside[block] = context.input_stage_index();
        context.stage().arrive_input();
      }
      look_after(block);
    }
    if (threadIdx.x == 0) barriers[0].arrive();  // the first accumulator again
    // A later block of a stage waits for its accumulator alone: the input would never arrive.
    { Context context(output, input, {.index = 1, .is_last = true}); }
    look_after(2);
    if (threadIdx.x == 0) {
      own.empty_of_first_stage = complete_and_count(barriers[kInputBarriers + kInputStages]);
      own.empty_of_second_stage = complete_and_count(barriers[kInputBarriers + kInputStages + 1]);
      seen = own;
    }
  }
};
TEST(EpilogueKContext, BlocksOfAStageWaitAtTheFirstAndHandBackAtTheLast) {
  const auto seen = observe<EpilogueBlocksOfAStage>(32);
  const uint32_t input_after[] = {0, 1, 2}, output_after[] = {1, 0, 1};
  for (int block = 0; block < 3; ++block) {
    EXPECT_EQ(seen.input_stage_after[block], input_after[block]) << block;
    EXPECT_EQ(seen.output_stage_after[block], output_after[block]) << block;
  }
  EXPECT_EQ(seen.input_stage_inside[0], 0u);
  EXPECT_EQ(seen.input_stage_inside[1], 0u);
  EXPECT_EQ(seen.empty_of_first_stage.pending, kArrivals - 1)
      << "the warp's one, at the last block";
  EXPECT_EQ(seen.empty_of_second_stage.pending, kArrivals) << "arrive_input was not called";
}

}  // namespace
}  // namespace bw::test::chapter04_stages
