#pragma once
/// \file
/// The dynamic tile scheduler, by cluster launch control (contract, chapter 5).

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/cluster_launch_control.cuh"
#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/fence.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw {

/// The grid has one cluster per piece of the raster. A cluster computes the piece that it was
/// launched for, then asks the hardware for others that haven't started, until none is left.
///
/// The scheduler warp of the cluster's first CTA asks; the answer goes to every CTA. Full counts,
/// in each CTA, the arrival that expects the answer's bytes. Empty lives in the first CTA only and
/// counts that warp and, of all CTAs, every thread of every consuming role. One request is under
/// way at a time: after a failed one none may follow.
template <int NumStages, int consumer_threads, int cluster_m, int cluster_size>
class ClcTileScheduler {
 public:
  using Pipeline = ProducerConsumerPipeline<NumStages>;  ///< the ring below
  using Message = ptx::LaunchControlResponse;            ///< what the scheduler publishes
  static constexpr int kNumStages = NumStages;           ///< stages of the ring
  /// Mbarriers of the ring, full ones first.
  static constexpr int kNumBarriers = Pipeline::kNumBarriers;
  static constexpr uint32_t kProducerArrivals = 1;         ///< arrivals that fill a stage
  static constexpr uint32_t kFullBytes = sizeof(Message);  ///< bytes that fill a stage
  /// Arrivals that empty a stage.
  static constexpr uint32_t kConsumerArrivals = ptx::kWarpThreads + cluster_size * consumer_threads;

  /// `messages`: NumStages slots in shared memory.
  __device__ __forceinline__ ClcTileScheduler(SharedMemBarrier* barriers, Message* messages,
                                              TileRaster raster)
      : pipeline_(barriers), messages_(messages), raster_(raster) {}

  /// One thread, before the kernel's first barrier.
  __device__ __forceinline__ void init_barriers() {
    pipeline_.init_barriers(kProducerArrivals, kConsumerArrivals);
  }

  /// Scheduler warp, its whole life: asks until an answer is no. In the other CTAs of the cluster
  /// there is nothing to do.
  __device__ __forceinline__ void publish_all() {
    if (cluster_size > 1 && ptx::cluster_cta_rank() != kFirstCta) return;
    // >>> exercise 5.7 "Ask until the answer is no"
    // request() asks once and steps. take_answer(tile) waits for the next answer, reads
    // it, frees its slot, and is false when there was nothing left to take over.
    BW_EXERCISE_NOT_DONE("5.7", "Ask until the answer is no");
    // <<< exercise 5.7
  }

  /// Every thread of a consuming role: takes the next tile; false when the work has ended.
  __device__ __forceinline__ bool next(WorkTile& tile) {
    if (!launched_tile_taken_) {
      launched_tile_taken_ = true;
      tile = raster_.tile(blockIdx.x / cluster_m);
      return true;
    }
    return take_answer(tile);
  }

 private:
  static constexpr uint32_t kFirstCta = 0;

  /// Waits until every role of every CTA has read the slot's last answer, then asks.
  __device__ __forceinline__ void request() {
    pipeline_.wait_consumer_cluster();
    const uint32_t slot = pipeline_.producer_stage();
    const uint32_t full = pipeline_.producer_mbar(slot)->address();
    if constexpr (cluster_size == 1) {
      if (ptx::elect_one()) ptx::mbarrier_arrive_expect_tx(full, kFullBytes);
    } else {
      const uint32_t lane = threadIdx.x % ptx::kWarpThreads;
      if (lane < cluster_size) {
        ptx::mbarrier_arrive_expect_tx_cluster(ptx::map_to_cta(full, lane), kFullBytes);
      }
    }
    __syncwarp();
    if (ptx::elect_one()) {
      ptx::launch_control_try_cancel<(cluster_size > 1)>(ptx::shared_address(messages_ + slot),
                                                         full);
    }
    __syncwarp();
    pipeline_.producer_step();
  }

  __device__ __forceinline__ bool take_answer(WorkTile& tile) {
    // In a cluster the first CTA's arrival and request complete the slots of all.
    constexpr bool kFromOtherCta = cluster_size > 1;
    if constexpr (kFromOtherCta) pipeline_.wait_producer_cluster();
    auto slot = pipeline_.consume_explicit(/*ready=*/kFromOtherCta);
    const ptx::CanceledCluster answer =
        ptx::launch_control_query(ptx::shared_address(messages_ + slot.index()));
    ptx::fence_proxy_async_shared();  // the next answer overwrites what was read
    if constexpr (cluster_size == 1) {
      slot.mbar()->arrive();
    } else {
      ptx::mbarrier_arrive_cluster(ptx::map_to_cta(slot.mbar()->address(), kFirstCta));
    }
    tile = raster_.tile(answer.first_cta_x / cluster_m);
    return answer.is_canceled;
  }

  Pipeline pipeline_;
  Message* messages_;
  TileRaster raster_;
  bool launched_tile_taken_ = false;
};

}  // namespace bw
