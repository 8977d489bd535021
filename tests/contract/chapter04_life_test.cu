/// \file
/// Contract, chapter 4: `per_k_stage` of both warp contexts, in a kernel with every role: what each
/// finds when it enters K block k, with all possible sides late.
#include "common/device/tcgen05_commit.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "solutions/04_per_k_contexts/output_k_pipeline.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter04_life {
namespace {

constexpr int kOutputStages = 2, kInputStages = 3, kStride = 64;
constexpr uint32_t kKBlocks = 2 * kInputStages + 1;
using Payload = BlockwiseFp8TilePayload<32, 8>;
using Input = InputTilePipeline<Payload, kInputStages>;

constexpr uint32_t kLoadWarp = kMmaWarp + 1;
constexpr int kInputBarriers = 2 * kOutputStages;
constexpr int kDealloc = kInputBarriers + 2 * kInputStages;
constexpr uint16_t kMask = 1;

/// Which role comes late to every K block.
enum class Late { kLoader, kMma, kEpilogue };

struct LifeSeen {
  uint32_t mma_offset[kKBlocks], epilogue_offset[kKBlocks];
  uint32_t mma_input[kKBlocks], epilogue_input[kKBlocks];  ///< input stages
  uint32_t loaded_before_epilogue[kKBlocks];               ///< K blocks loaded when it entered
  uint32_t multiplied_before_epilogue[kKBlocks];           ///< … multiplied
  uint32_t read_before_mma[kKBlocks];   ///< reads of accumulators, by threads, when MMA entered
  uint32_t read_before_load[kKBlocks];  ///< … of A-scales, when the loader entered
  uint32_t read_before_drained;
};

template <Late late, int epilogue_threads = 128>
struct Life {
  using Seen = LifeSeen;
  static constexpr OutputPipelineConfig kOutput{kOutputStages, kStride, 1, epilogue_threads};
  using MmaWarp = MmaWarpContext<kOutput, 32, epilogue_threads>;
  using EpilogueWarp = EpilogueWarpContext<kOutput, 32, epilogue_threads>;
  /// The MMAs' commit, and every epilogue warp.
  static constexpr uint32_t kInputConsumers = 1 + epilogue_threads / 32;
  /// The load warp comes after the MMA warp.
  static constexpr unsigned kThreads = epilogue_threads == 256 ? kContextThreads<256> : 6 * 32;
  struct Progress {
    uint32_t loaded, multiplied, accumulators_read, scales_read;
  };
  /// What others have counted, past the caches of the calling thread.
  static __device__ uint32_t look(const uint32_t& counter) {
    return *static_cast<const volatile uint32_t*>(&counter);
  }
  static __device__ Input input_over(SharedMemBarrier* barriers) {
    return Input{Input::Pipeline(barriers + kInputBarriers), Payload{}};
  }

  static __device__ void load(SharedMemBarrier* barriers, Progress& progress, Seen& seen) {
    auto input = input_over(barriers);
    auto producer = input.producer();
    for (uint32_t k = 0; k < kKBlocks; ++k) {
      auto stage = producer.acquire();
      if (lane_index() == 0) {
        seen.read_before_load[k] = look(progress.scales_read);
        if (late == Late::kLoader) come_late();
        atomicAdd(&progress.loaded, 1);
        stage.barrier()->arrive();
      }
      __syncwarp();
    }
    producer.drain();
    if (lane_index() == 0) seen.read_before_drained = look(progress.scales_read);
  }

  static __device__ void multiply(SharedMemBarrier* barriers, uint32_t* slot, Progress& progress,
                                  Seen& seen) {
    auto mma = MmaWarp::create(slot, barriers, &barriers[kDealloc], kMask);
    auto input = input_over(barriers);
    auto consumer = input.consumer();
    for (uint32_t k = 0; k < kKBlocks; ++k) {
      auto accumulator = mma.per_k_stage();
      auto operands = consumer.acquire();
      if (lane_index() == 0) {
        seen.mma_offset[k] = accumulator.stage().tmem().offset() - mma.tmem().addr;
        seen.mma_input[k] = operands.tile_index();
        seen.read_before_mma[k] = look(progress.accumulators_read);
        if (late == Late::kMma) come_late();
        atomicAdd(&progress.multiplied, 1);
        ptx::tcgen05_commit<1>(operands.barrier()->address());
      }
      __syncwarp();
    }
  }

  static __device__ void write(SharedMemBarrier* barriers, uint32_t* slot, Progress& progress,
                               Seen& seen) {
    EpilogueWarp::Sync::wait();
    auto epilogue = EpilogueWarp::create(slot, barriers, &barriers[kDealloc], kMask);
    auto input = input_over(barriers);
    for (uint32_t k = 0; k < kKBlocks; ++k) {
      auto context = epilogue.per_k_stage(input);
      if (epilogue_thread() == epilogue_threads - 1) {
        seen.epilogue_offset[k] = context.output_stage().tmem().offset() - epilogue.tmem().addr;
        seen.epilogue_input[k] = context.input_stage_index();
        seen.loaded_before_epilogue[k] = look(progress.loaded);
        seen.multiplied_before_epilogue[k] = look(progress.multiplied);
      }
      if (late == Late::kEpilogue) come_late();
      atomicAdd(&progress.scales_read, 1);
      context.stage().arrive_input();
      if (late == Late::kEpilogue) come_late();
      atomicAdd(&progress.accumulators_read, 1);
    }
  }

  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot;
    __shared__ Progress progress;
    if (threadIdx.x == 0) {
      MmaWarp::Pipeline::init_barriers(barriers);
      typename MmaWarp::Dealloc{&barriers[kDealloc]}.init_barrier();
      input_over(barriers).pipeline.init_barriers(1, kInputConsumers);
      progress = {};
    }
    meet();
    if (warp_index() == kLoadWarp) {
      load(barriers, progress, seen);
    } else if (warp_index() == kMmaWarp) {
      multiply(barriers, &slot, progress, seen);
    } else if (is_epilogue_warp()) {
      write(barriers, &slot, progress, seen);
    }
  }
};

void expect_stages(const LifeSeen& seen) {
  for (uint32_t k = 0; k < kKBlocks; ++k) {
    EXPECT_EQ(seen.mma_offset[k], k % kOutputStages * kStride);
    EXPECT_EQ(seen.epilogue_offset[k], k % kOutputStages * kStride);
    EXPECT_EQ(seen.mma_input[k], k % kInputStages);
    EXPECT_EQ(seen.epilogue_input[k], k % kInputStages);
  }
}
/// Reads by all epilogue threads of the K blocks that must have left a ring of `stages` before the
/// producer may enter K block `k` of it.
uint32_t reads_due(uint32_t k, uint32_t stages, uint32_t epilogue_threads) {
  return k < stages ? 0 : (k - stages + 1) * epilogue_threads;
}

template <class Scenario>
LifeSeen live() {
  return observe<Scenario>(Scenario::kThreads);
}
template <int epilogue_threads>
void expect_that_mma_waits_for_every_reader() {
  const LifeSeen seen = live<Life<Late::kEpilogue, epilogue_threads>>();
  expect_stages(seen);
  for (uint32_t k = 0; k < kKBlocks; ++k) {
    EXPECT_GE(seen.read_before_mma[k], reads_due(k, kOutputStages, epilogue_threads))
        << "K block " << k;
    EXPECT_LT(seen.read_before_mma[k], (k + 1) * epilogue_threads) << "it runs ahead of the reader";
  }
}
template <int epilogue_threads>
void expect_that_the_epilogue_waits_for_the_commit() {
  const LifeSeen seen = live<Life<Late::kMma, epilogue_threads>>();
  expect_stages(seen);
  for (uint32_t k = 0; k < kKBlocks; ++k) {
    EXPECT_EQ(seen.multiplied_before_epilogue[k], k + 1);
    EXPECT_GE(seen.loaded_before_epilogue[k], k + 1);
  }
}
template <int epilogue_threads>
void expect_that_the_loader_waits_for_every_warp() {
  const LifeSeen seen = live<Life<Late::kEpilogue, epilogue_threads>>();
  for (uint32_t k = 0; k < kKBlocks; ++k) {
    EXPECT_GE(seen.read_before_load[k], reads_due(k, kInputStages, epilogue_threads))
        << "K block " << k;
  }
  EXPECT_EQ(seen.read_before_drained, kKBlocks * epilogue_threads);
}

TEST(MmaWarpContext, PerKStageTakesOneAccumulatorPerKBlock) {
  expect_stages(live<Life<Late::kLoader>>());
}
TEST(MmaWarpContext, PerKStageWaitsUntilEveryEpilogueThreadHasReadTheAccumulator) {
  expect_that_mma_waits_for_every_reader<128>();
}
TEST(MmaWarpContext, PerKStageWaitsForBothGroupsOfEpilogueWarps) {
  expect_that_mma_waits_for_every_reader<256>();
}
TEST(EpilogueWarpContext, PerKStageWaitsForTheCommitOfItsKBlock) {
  expect_that_the_epilogue_waits_for_the_commit<128>();
}
TEST(EpilogueWarpContext, PerKStageOfTwoGroupsWaitsForTheCommitOfItsKBlock) {
  expect_that_the_epilogue_waits_for_the_commit<256>();
}
TEST(EpilogueWarpContext, PerKStageHandsTheInputStageBackWhenAllWarpsHaveReadTheScales) {
  expect_that_the_loader_waits_for_every_warp<128>();
}
TEST(EpilogueWarpContext, PerKStageHandsTheInputStageBackWhenBothGroupsHaveReadTheScales) {
  expect_that_the_loader_waits_for_every_warp<256>();
}

}  // namespace
}  // namespace bw::test::chapter04_life
