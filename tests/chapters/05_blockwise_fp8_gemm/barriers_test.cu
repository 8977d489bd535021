/// \file
/// EpiLoadPipeline, LoadOrderBarrier and the throttle of launch control: the waits, and how far one
/// side may be ahead.
#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"
#include "solutions/05_blockwise_fp8_gemm/clc_tile_scheduler.cuh"
#include "solutions/05_blockwise_fp8_gemm/epi_load_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/load_order_barrier.cuh"
#include "tests/device_cases.hpp"

namespace bw {
namespace {

constexpr int kConsumers = 128;

template <class Kernel>
std::vector<uint32_t> run(Kernel kernel, int threads, size_t answers) {
  DeviceBuffer<uint32_t> seen(answers);
  seen.fill_bytes(0xff);
  kernel<<<1, threads>>>(seen.data());
  check_cuda(cudaGetLastError(), "launch");
  return seen.download();
}

/// Answers: 0 full before and 1 after the producer's one arrival; 2 empty after 127 and 3 after
/// 128 arrivals; 4 consumer's and 5 producer's stage after one step each, 6 after the second.
__global__ void epi_load_counts(uint32_t* seen) {
  __shared__ SharedMemBarrier barriers[EpiLoadPipeline<2>::kNumBarriers];
  EpiLoadPipeline<2> pipeline(barriers);
  const bool first = threadIdx.x == 0;
  if (first) pipeline.init_barriers();
  __syncthreads();
  const auto full = [&] { return barriers[0].try_wait(0); };
  const auto empty = [&] { return barriers[2].try_wait(0); };

  if (first) seen[0] = full();
  __syncthreads();
  if (first) pipeline.producer_mbar()->arrive();
  __syncthreads();
  if (first) seen[1] = full();
  __syncthreads();
  auto consumed = pipeline.acquire_consumer();
  if (!first) consumed.arrive();
  __syncthreads();
  if (first) seen[2] = empty();
  __syncthreads();
  if (first) consumed.arrive();
  __syncthreads();
  if (first) seen[3] = empty();
  consumed.release_without_signal();
  pipeline.producer_step();
  if (first) {
    seen[4] = pipeline.consumer_stage();
    seen[5] = pipeline.producer_stage();
  }
  pipeline.producer_step();
  if (first) seen[6] = pipeline.producer_stage();
}

TEST(EpiLoadPipeline, FullCountsOneArrivalAndEmptyAllConsumers) {
  EXPECT_EQ(run(epi_load_counts, kConsumers, 7), (std::vector<uint32_t>{0, 1, 0, 1, 1, 1, 0}));
}

/// Warp 0 fills stages, warps 1 to 4 consume them by scopes; answer i: value of round i.
__global__ void epi_load_rounds(uint32_t* seen) {
  constexpr int kRounds = 7;
  __shared__ SharedMemBarrier barriers[EpiLoadPipeline<2>::kNumBarriers];
  __shared__ uint32_t values[2];
  EpiLoadPipeline<2> pipeline(barriers);
  if (threadIdx.x == 0) pipeline.init_barriers();
  __syncthreads();
  for (uint32_t round = 0; round < kRounds; ++round) {
    if (threadIdx.x < 32) {
      auto stage = pipeline.produce();
      if (threadIdx.x == 0) {
        values[stage.index()] = round;
        stage.mbar()->arrive();
      }
      __syncwarp();
    } else {
      auto stage = pipeline.consume();
      if (threadIdx.x == 32) seen[round] = values[stage.index()];
    }
  }
}

TEST(EpiLoadPipeline, RoundsArriveInOrder) {
  EXPECT_EQ(run(epi_load_rounds, 32 + kConsumers, 7), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6}));
}

/// Warp 0 arrives for `kAhead` tiles before warp 1 waits for the first, then keeps that distance.
/// Answer i: tiles announced when tile i's wait had passed.
template <int phases>
__global__ void load_order_ahead(uint32_t* seen) {
  constexpr uint32_t kTiles = 9, kAhead = phases;
  __shared__ SharedMemBarrier barriers[phases];
  __shared__ uint32_t announced;
  LoadOrderBarrier<phases> order(barriers);
  if (threadIdx.x == 0) {
    order.init_barriers();
    announced = 0;
  }
  __syncthreads();
  for (uint32_t step = 0; step < kTiles + kAhead - 1; ++step) {
    if (threadIdx.x < 32 && step < kTiles) {
      if (threadIdx.x == 0) {
        announced = step + 1;
        order.arrive();
      }
      order.step();
    }
    __syncthreads();
    if (threadIdx.x >= 32 && step + 1 >= kAhead) {
      order.wait();
      order.step();
      if (threadIdx.x == 32) seen[step + 1 - kAhead] = announced;
    }
    __syncthreads();
  }
}

TEST(LoadOrderBarrier, LoaderMayBeAsManyTilesAheadAsThereArePhases) {
  EXPECT_EQ(run(load_order_ahead<3>, 64, 9), (std::vector<uint32_t>{3, 4, 5, 6, 7, 8, 9, 9, 9}));
  EXPECT_EQ(run(load_order_ahead<1>, 64, 9), (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

/// Answer 0: the wait passes before, 1: after the arrival.
__global__ void load_order_waits(uint32_t* seen) {
  __shared__ SharedMemBarrier barriers[2];
  LoadOrderBarrier<2> order(barriers);
  order.init_barriers();
  seen[0] = barriers[0].try_wait(0);
  order.arrive();
  order.wait();
  seen[1] = barriers[0].try_wait(0);
}

TEST(LoadOrderBarrier, WaitsForTheArrival) {
  EXPECT_EQ(run(load_order_waits, 1, 2), (std::vector<uint32_t>{0, 1}));
}

/// Warp 1 schedules, warp 0 takes the pieces. Answer 0: the first answer is there long before warp
/// 0 signals that it has begun its piece, 1: there is another piece.
__global__ void throttled_requests(uint32_t* seen) {
  using Scheduler = ClcTileScheduler<2, ptx::kWarpThreads, /*cluster_m=*/1, /*cluster_size=*/1>;
  __shared__ SharedMemBarrier barriers[Scheduler::kNumBarriers];
  __shared__ Scheduler::Message messages[Scheduler::kNumStages];
  Scheduler scheduler(barriers, messages, TileRaster{1, 1});
  if (threadIdx.x == 0) {
    scheduler.init_barriers();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= ptx::kWarpThreads) return scheduler.publish_all();
  WorkTile tile;
  scheduler.next(tile);
  constexpr int64_t kLongerThanAnAnswerTakes = 20000;
  const int64_t end = clock64() + kLongerThanAnAnswerTakes;
  while (clock64() < end) {
  }
  if (threadIdx.x == 0) seen[0] = barriers[0].try_wait(0);
  scheduler.throttle_signal();
  const bool more = scheduler.next(tile);
  if (threadIdx.x == 0) seen[1] = more;
}

TEST(Throttle, NoRequestBeforeTheLoadWarpHasBegunItsPiece) {
  EXPECT_EQ(run(throttled_requests, 2 * ptx::kWarpThreads, 2), (std::vector<uint32_t>{0, 0}));
}

}  // namespace
}  // namespace bw
