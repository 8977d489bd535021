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

/// The grid has one cluster per piece and is the raster (LaunchControlGrid), so the coordinates in
/// an answer need no division. A cluster computes the piece that it was launched for, then asks the
/// hardware for others that haven't started, until none is left.
///
/// The scheduler warp of the cluster's first CTA asks; the answer goes to every CTA. Full counts,
/// in each CTA, the arrival that expects the answer's bytes. Empty lives in the first CTA only and
/// counts that warp and, of all CTAs, every thread of every consuming role. One request is under
/// way at a time: after a failed one none may follow.
///
/// The load warp paces the requests: the one for piece t + 1 is issued when that warp has begun
/// piece t, so that a cluster holds at most one piece that it hasn't begun to load. One barrier
/// without a counterpart is enough: the load warp signals piece t + 1 only when it has the answer,
/// hence after the scheduler warp has seen the signal of piece t.
template <int NumStages, int consumer_threads, int cluster_m, int cluster_size>
class ClcTileScheduler {
 public:
  using Pipeline = ProducerConsumerPipeline<NumStages>;  ///< the ring below
  using Message = ptx::LaunchControlResponse;            ///< what the scheduler publishes
  static constexpr int kNumStages = NumStages;           ///< stages of the ring
  /// Mbarriers: of the ring, full ones first; and the throttle.
  static constexpr int kNumBarriers = Pipeline::kNumBarriers + 1;
  static constexpr uint32_t kThrottleArrivals = 1;         ///< the load warp's, for each piece
  static constexpr uint32_t kProducerArrivals = 1;         ///< arrivals that fill a stage
  static constexpr uint32_t kFullBytes = sizeof(Message);  ///< bytes that fill a stage
  /// Arrivals that empty a stage.
  static constexpr uint32_t kConsumerArrivals = ptx::kWarpThreads + cluster_size * consumer_threads;

  /// `messages`: NumStages slots in shared memory. The grid is the raster.
  __device__ __forceinline__ ClcTileScheduler(SharedMemBarrier* barriers, Message* messages,
                                              const TileRaster& /*raster*/)
      : pipeline_(barriers), throttle_(barriers + Pipeline::kNumBarriers), messages_(messages) {}

  /// One thread, before the kernel's first barrier.
  __device__ __forceinline__ void init_barriers() {
    pipeline_.init_barriers(kProducerArrivals, kConsumerArrivals);
    throttle_->init(kThrottleArrivals);
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
      tile = piece_of(blockIdx.x, blockIdx.y, blockIdx.z);
      return true;
    }
    return take_answer(tile);
  }

  /// Load warp, once for each tile that it takes: the next request may follow.
  __device__ __forceinline__ void throttle_signal() {
    if (cluster_size > 1 && ptx::cluster_cta_rank() != kFirstCta) return;
    if (ptx::elect_one()) throttle_->arrive();
    __syncwarp();
  }

 private:
  static constexpr uint32_t kFirstCta = 0;
  static constexpr int kClusterN = cluster_size / cluster_m;

  /// The piece of the cluster whose first CTA has this place in the grid.
  static __device__ __forceinline__ WorkTile piece_of(uint32_t x, uint32_t y, uint32_t z) {
    return WorkTile{(z * gridDim.x + x) / cluster_m, y / kClusterN, 1, 0};
  }

  /// Waits until the load warp has begun the latest piece, and until every role of every CTA has
  /// read the slot's last answer, then asks.
  __device__ __forceinline__ void request() {
    throttle_->wait(throttle_parity_);
    throttle_parity_ ^= 1;
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
    tile = piece_of(answer.first_cta_x, answer.first_cta_y, answer.first_cta_z);
    return answer.is_canceled;
  }

  Pipeline pipeline_;
  SharedMemBarrier* throttle_;
  uint32_t throttle_parity_ = 0;
  Message* messages_;
  bool launched_tile_taken_ = false;
};

}  // namespace bw
