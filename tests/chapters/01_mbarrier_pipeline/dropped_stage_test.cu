/// \file
/// Builds without NDEBUG stop a kernel that drops a stage without its release.
#undef NDEBUG

#include <cuda_runtime_api.h>

#include <type_traits>
#include <utility>

#include "common/device/fence.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "tests/device_cases.hpp"

namespace {

using Pipeline = bw::ProducerConsumerPipeline<2>;

enum class Ending { kProducerDropped, kConsumerDropped, kReleased, kMovedThenReleased };

template <class Stage>
constexpr bool kMoveOnly =
    !std::is_copy_constructible_v<Stage> && std::is_move_constructible_v<Stage>;
static_assert(kMoveOnly<bw::ProducerStage<Pipeline>> && kMoveOnly<bw::ConsumerStage<Pipeline>> &&
                  kMoveOnly<Pipeline::ProduceScope> && kMoveOnly<Pipeline::ConsumeScope> &&
                  kMoveOnly<Pipeline::ExplicitConsumeScope>,
              "a stage ends once, so that it can't be copied");

/// One thread: produces one stage, consumes it, and ends both as `ending` says.
__global__ void end_stages(Ending ending) {
  __shared__ bw::SharedMemBarrier barriers[Pipeline::kNumBarriers];
  Pipeline pipeline(barriers);
  pipeline.init_barriers(1, 1);
  bw::ptx::fence_mbarrier_init();
  {
    auto stage = pipeline.acquire_producer();
    stage.mbar()->arrive();
    if (ending != Ending::kProducerDropped) stage.release();
  }
  {
    auto stage = pipeline.acquire_consumer();
    if (ending == Ending::kMovedThenReleased) {
      auto moved = std::move(stage);
      moved.release();
    } else if (ending == Ending::kReleased) {
      stage.release();
    }
  }
}

cudaError_t run(Ending ending) {
  end_stages<<<1, 1>>>(ending);
  const cudaError_t launched = cudaGetLastError();
  return launched == cudaSuccess ? cudaDeviceSynchronize() : launched;
}

TEST(DroppedStage, ReleasedStagesPass) {
  EXPECT_EQ(run(Ending::kReleased), cudaSuccess);
  EXPECT_EQ(run(Ending::kMovedThenReleased), cudaSuccess);
}

// The simulator ends a program whose kernel traps, and says where.
TEST(DroppedStageDeathTest, DroppedProducerStageTraps) {
  EXPECT_DEATH(static_cast<void>(run(Ending::kProducerDropped)), "trap.*\n.*require_released");
}

TEST(DroppedStageDeathTest, DroppedConsumerStageTraps) {
  EXPECT_DEATH(static_cast<void>(run(Ending::kConsumerDropped)), "trap.*\n.*require_released");
}

}  // namespace
