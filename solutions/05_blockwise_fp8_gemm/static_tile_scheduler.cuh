#pragma once
/// \file
/// The static persistent tile scheduler: one warp decides, the others are told (contract,
/// chapter 5).

#include <cstdint>

#include "common/device/elect.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw {

/// Cluster i of a persistent grid of G clusters computes pieces i, i + G, i + 2G, … of the raster.
/// The scheduler warp of every CTA publishes them to its own CTA through a ring. Full counts its
/// one arrival; empty counts every thread of every consuming role, and every role must take every
/// message, whether the tile gives it work or not.
template <int NumStages, int consumer_threads, int cluster_m>
class StaticTileScheduler {
 public:
  using Pipeline = ProducerConsumerPipeline<NumStages>;  ///< the ring below
  using Message = WorkTile;                              ///< what the scheduler publishes
  static constexpr int kNumStages = NumStages;           ///< stages of the ring
  /// Mbarriers of the ring, full ones first.
  static constexpr int kNumBarriers = Pipeline::kNumBarriers;
  static constexpr uint32_t kProducerArrivals = 1;  ///< arrivals that fill a stage
  static constexpr uint32_t kFullBytes = 0;         ///< bytes that fill a stage: none
  static constexpr uint32_t kConsumerArrivals = consumer_threads;  ///< arrivals that empty a stage

  /// `messages`: NumStages slots in shared memory.
  __device__ __forceinline__ StaticTileScheduler(SharedMemBarrier* barriers, Message* messages,
                                                 TileRaster raster)
      : pipeline_(barriers), messages_(messages), raster_(raster) {}

  /// One thread, before the kernel's first barrier.
  __device__ __forceinline__ void init_barriers() {
    pipeline_.init_barriers(kProducerArrivals, kConsumerArrivals);
  }

  /// Scheduler warp, its whole life: publishes all tiles, then the message that ends the work.
  __device__ __forceinline__ void publish_all() {
    const uint32_t clusters = gridDim.x / cluster_m;
    uint32_t index = blockIdx.x / cluster_m;
    WorkTile tile;
    do {
      tile = raster_.tile(index);
      publish(tile);
      index += clusters;
    } while (tile.valid);
  }

  /// Every thread of a consuming role: takes the next tile; false when the work has ended.
  __device__ __forceinline__ bool next(WorkTile& tile) {
    auto slot = pipeline_.consume();
    tile = messages_[slot.index()];
    return tile.valid != 0;
  }

  /// Load warp, as with launch control: a static schedule isn't paced.
  __device__ __forceinline__ void throttle_signal() {}

 private:
  __device__ __forceinline__ void publish(const WorkTile& tile) {
    auto slot = pipeline_.produce();
    if (ptx::elect_one()) {
      messages_[slot.index()] = tile;
      slot.mbar()->arrive();
    }
    __syncwarp();
  }

  Pipeline pipeline_;
  Message* messages_;
  TileRaster raster_;
};

}  // namespace bw
