#pragma once
/// \file
/// The persistent tile scheduler: one warp decides, the others are told (contract, chapter 5).

#include <cstdint>

#include "common/device/elect.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"

namespace bw {

/// One output tile. `valid` is 0 in the message that ends the work.
struct alignas(16) WorkTile {
  uint32_t m;  ///< tile index along M
  uint32_t n;  ///< tile index along N
  uint32_t valid;
  uint32_t unused;
};

/// Static schedule: CTA i of a persistent grid of G computes tiles i, i + G, i + 2G, … of the
/// raster in which M runs fastest, so that CTAs at work together share their B tiles in L2. The
/// host keeps tiles_m · tiles_n below 2^31.
struct StaticTileScheduler {
  uint32_t tiles_m;
  uint32_t tiles_n;

  /// The `round`-th tile of CTA `cta` of `num_ctas`.
  __device__ __forceinline__ WorkTile tile(uint32_t cta, uint32_t num_ctas, uint32_t round) const {
    const uint32_t linear = cta + round * num_ctas;
    if (linear >= tiles_m * tiles_n) return WorkTile{0, 0, 0, 0};
    return WorkTile{linear % tiles_m, linear / tiles_m, 1, 0};
  }
};

/// The ring through which the scheduler warp tells all other roles the next tile. Full counts
/// the scheduler's one arrival; empty counts every thread of every consuming role, and every role
/// must take every message, whether the tile gives it work or not.
template <int NumStages, int ConsumerThreads>
class WorkTilePipeline {
 public:
  using Pipeline = ProducerConsumerPipeline<NumStages>;
  static constexpr int kNumBarriers = Pipeline::kNumBarriers;

  /// `tiles`: NumStages slots in shared memory.
  __device__ __forceinline__ WorkTilePipeline(SharedMemBarrier* barriers, WorkTile* tiles)
      : pipeline_(barriers), tiles_(tiles) {}

  /// One thread, before the kernel's first barrier.
  __device__ __forceinline__ void init_barriers() { pipeline_.init_barriers(1, ConsumerThreads); }

  /// Scheduler warp: publishes one message.
  __device__ __forceinline__ void publish(const WorkTile& tile) {
    auto slot = pipeline_.produce();
    if (ptx::elect_one()) {
      tiles_[slot.index()] = tile;
      slot.mbar()->arrive();
    }
  }

  /// Every thread of a consuming role: takes the next message; false when the work has ended.
  __device__ __forceinline__ bool next(WorkTile& tile) {
    auto slot = pipeline_.consume();
    tile = tiles_[slot.index()];
    return tile.valid != 0;
  }

 private:
  Pipeline pipeline_;
  WorkTile* tiles_;
};

}  // namespace bw
