#pragma once
/// \file
/// A ring of boxes in shared memory that TMA fills as fast as it can, or at a given pace: what the
/// load warp of a GEMM does, without anyone who reads the boxes.

#include <cuda.h>

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "tests/benchmarks/hopper/floor_device.cuh"

namespace bw {

constexpr int kBoxRows = 128;  ///< of 128 bytes, in every CTA
constexpr int kBoxBytes = kBoxRows * kRowBytes;
constexpr int kMostStages = 12;
// The matrix that the boxes come from: 16 MiB, which L2 holds.
constexpr int kRowBoxes = 64, kColumnBoxes = 16;
constexpr int kMatrixRows = kRowBoxes * kBoxRows, kMatrixColumns = kColumnBoxes * kRowBytes;

/// What the host chooses of a ring.
struct RingOptions {
  int cluster;          ///< CTAs that share every box: each loads its part of the rows for all
  int stages;           ///< boxes under way
  int boxes;            ///< that every CTA gets
  int interval_cycles;  ///< from one box to the next at least; 0: no pace
};

/// One thread produces, one of another warp consumes, so that a box that is late keeps none from
/// being asked for. All arrivals on other CTAs' barriers are "I have seen it" and publish nothing:
/// a release at cluster scope would wait for all that the thread has under way.
class BoxRing {
 public:
  struct Barriers {
    uint64_t full[kMostStages], empty[kMostStages];
  };

  __device__ BoxRing(const RingOptions& options, uint8_t* stages, Barriers& barriers)
      : options_(options),
        stages_(ptx::shared_address(stages)),
        full_(ptx::shared_address(barriers.full)),
        empty_(ptx::shared_address(barriers.empty)) {}

  /// One thread; a cluster barrier follows.
  __device__ void init() const {
    for (int i = 0; i < options_.stages; ++i) {
      ptx::mbarrier_init(full_ + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty_ + i * kBarrierBytes, options_.cluster);
    }
    ptx::fence_mbarrier_init();
  }

  /// One thread: asks for this CTA's part of every box. Clusters begin in different rows.
  __device__ void produce(const CUtensorMap* map) const {
    const uint32_t rank = ptx::cluster_cta_rank();
    const int share_rows = kBoxRows / options_.cluster;
    const auto mask = static_cast<uint16_t>((1u << options_.cluster) - 1);
    constexpr int kSpread = 7;
    int row_box = static_cast<int>(blockIdx.x) / options_.cluster * kSpread % kRowBoxes;
    int column_box = 0;
    int64_t earliest = 0;
    Place place;
    for (int box = 0; box < options_.boxes; ++box) {
      wait(empty_ + place.stage * kBarrierBytes, place.parity ^ 1);
      if (options_.interval_cycles != 0) {
        int64_t now = clock64();
        while (now < earliest) now = clock64();
        earliest = now + options_.interval_cycles;
      }
      const uint32_t full = full_ + place.stage * kBarrierBytes;
      const uint32_t destination =
          stages_ + place.stage * kBoxBytes + rank * share_rows * kRowBytes;
      const int x = column_box * kRowBytes;
      const int y = row_box * kBoxRows + static_cast<int>(rank) * share_rows;
      ptx::mbarrier_arrive_expect_tx(full, kBoxBytes);
      if (options_.cluster == 1) {
        ptx::tma_load_2d(destination, map, full, x, y);
      } else {
        ptx::tma_load_2d_multicast(destination, map, full, x, y, mask);
      }
      place.step(options_.stages);
      if (++column_box == kColumnBoxes) {
        column_box = 0;
        row_box = (row_box + 1) % kRowBoxes;
      }
    }
  }

  /// One thread of another warp: sees every box and frees its stage in all CTAs that fill it. The
  /// time until the last one.
  __device__ CtaTime consume() const {
    const uint64_t begin_nanoseconds = global_nanoseconds();
    const int64_t begin = clock64();
    Place place;
    for (int box = 0; box < options_.boxes; ++box) {
      wait(full_ + place.stage * kBarrierBytes, place.parity);
      for (int peer = 0; peer < options_.cluster; ++peer) {
        ptx::mbarrier_arrive_remote(ptx::map_to_cta(empty_ + place.stage * kBarrierBytes, peer));
      }
      place.step(options_.stages);
    }
    return {static_cast<uint64_t>(clock64() - begin), global_nanoseconds() - begin_nanoseconds};
  }

 private:
  static constexpr uint32_t kBarrierBytes = sizeof(uint64_t);

  struct Place {
    int stage = 0;
    uint32_t parity = 0;
    __device__ void step(int stages) {
      if (++stage == stages) {
        stage = 0;
        parity ^= 1;
      }
    }
  };

  static __device__ void wait(uint32_t barrier, uint32_t parity) {
    while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
  }

  RingOptions options_;
  uint32_t stages_, full_, empty_;
};

}  // namespace bw
