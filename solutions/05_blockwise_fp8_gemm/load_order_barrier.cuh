#pragma once
/// \file
/// Lets the main loads of a tile go before the loads of its C (contract, chapter 5).

#include <cstdint>

#include "common/device/shared_mem_barrier.cuh"

namespace bw {

/// The load warp arrives once per tile, when it has issued the tile's first loads; the
/// epilogue-load warp waits once per tile before it asks for C. Both take the same tiles.
///
/// The load warp may be several tiles ahead. A parity wait tells only neighbouring phases apart,
/// and a wait for a phase that was overtaken by two never ends. So tile t has barrier
/// t % num_phases, and `num_phases` is more than the tiles by which the load warp can be ahead.
template <int num_phases>
class LoadOrderBarrier {
  static_assert(num_phases >= 1, "at least one barrier");

 public:
  static constexpr int kNumBarriers = num_phases;  ///< one mbarrier for each phase
  static constexpr uint32_t kArrivals = 1;         ///< the load warp's

  /// `barriers`: `kNumBarriers` barriers in shared memory.
  __device__ __forceinline__ explicit LoadOrderBarrier(SharedMemBarrier* barriers)
      : barriers_(barriers) {}

  /// One thread, before the kernel's first barrier.
  __device__ __forceinline__ void init_barriers() const {
#pragma unroll
    for (int i = 0; i < num_phases; ++i) barriers_[i].init(kArrivals);
  }

  /// One lane of the load warp: this tile's first loads are issued.
  __device__ __forceinline__ void arrive() const { barriers_[index_].arrive(); }
  /// All lanes of the epilogue-load warp: waits for that.
  __device__ __forceinline__ void wait() const { barriers_[index_].wait(lap_ & 1); }
  /// All lanes of either warp, after `arrive` or `wait`: goes to the next tile.
  __device__ __forceinline__ void step() {
    if (++index_ == num_phases) {
      index_ = 0;
      ++lap_;
    }
  }

 private:
  SharedMemBarrier* barriers_;
  uint32_t index_ = 0;
  uint32_t lap_ = 0;
};

}  // namespace bw
