#pragma once
/// \file
/// The warps that feed TMA: one loads the operands, and for each math warpgroup one loads its
/// slices of C and stores its slices of D, unless the warpgroup stores them itself.

#include <cuda.h>

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "solutions/06_hopper_fp8_gemm/cta_start.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"

namespace bw::hopper {

/// One copy of an operand: the box at (`inner`, `outer`) of its matrix, `inner` counted along the
/// contiguous dimension, into `destination`, in this CTA, or with `slices` > 1 in all CTAs of
/// `mask`.
template <int slices>
__device__ __forceinline__ void load_operand(const void* destination, const CUtensorMap& map,
                                             uint32_t full, int32_t inner, int32_t outer,
                                             uint16_t mask) {
  const uint32_t address = ptx::shared_address(destination);
  if constexpr (slices == 1) {
    ptx::tma_load_2d(address, &map, full, inner, outer);
  } else {
    ptx::tma_load_2d_multicast(address, &map, full, inner, outer, mask);
  }
}

/// Load warp: fills the input ring with one K block after the other. Tiles of B that CTAs of the
/// cluster share are loaded in slices, one by each, and multicast; A and its scales are this CTA's
/// own. It
/// waits for the barriers when it knows its first tile, and ends when all stages have been
/// released.
template <class Config>
__device__ __forceinline__ void load_operands(const GemmCta<Config>& cta) {
  constexpr int kBSliceRows = Config::kTileN / Config::kBSlices;
  const auto cluster = cta.cluster();
  const uint32_t b_row = cluster.rank_m * kBSliceRows;
  auto input = cta.input_pipeline();
  auto producer = input.producer();
  bool has_begun = false;
  cta.for_each_part([&](const TilePart& part) {
    if (!has_begun) wait_for_barriers<Config>();
    has_begun = true;
    static_assert(Config::kASlices == 1, "who shares A would have to share its last rows, too");
    const ATileLoad a = cta.args.a_tile_load(part.row, Config::kTileM);
    const uint32_t stage_bytes =
        Config::Payload::kStageBytes - (Config::kTileM - a.rows) * Config::kTileK;
    for (uint32_t k_block = part.first; k_block < part.end; ++k_block) {
      auto stage = producer.acquire();
      // The consumers read the A-scales by ordinary loads, and TMA is about to overwrite them.
      if constexpr (Config::traits.fences_together) ptx::fence_proxy_async_shared();
      if (ptx::elect_one()) {
        if constexpr (!Config::traits.fences_together) ptx::fence_proxy_async_shared();
        const auto& payload = stage.payload();
        const uint32_t index = stage.tile_index(), full = stage.barrier()->address();
        const int32_t k = k_block * Config::kTileK;
        stage.expect_bytes(stage_bytes);
        load_operand<1>(payload.a_tile(index), *a.map, full, k, static_cast<int32_t>(a.row), 0);
        load_operand<Config::kBSlices>(payload.b_tile(index) + b_row * Config::kTileK, cta.args.b,
                                       full, k, cta.b_row(part) + b_row,
                                       cluster.b_multicast_mask());
        load_operand<1>(payload.a_scales_tile(index), cta.args.a_scales, full, part.row, k_block,
                        0);
      }
      __syncwarp();
    }
  });
  if (!has_begun) wait_for_barriers<Config>();
  // A CTA's shared memory must outlive what others send to it: operands, which its own math warps
  // have waited for, and releases of stages.
  if constexpr (Config::kClusterSize > 1 && Config::kSplitK == 1) producer.drain();
}

/// Output warp of one math warpgroup. A slot holds a slice of C until the warpgroup has put the
/// slice of D in its place; the same warp then stores it, and loads the C that comes there next.
template <class Config>
class OutputWarp {
 public:
  /// For the slices of a math warpgroup.
  __device__ __forceinline__ OutputWarp(const GemmCta<Config>& cta, uint32_t warpgroup)
      : cta_(cta),
        warpgroup_(warpgroup),
        epi_load_(cta.epi_load_pipeline(warpgroup)),
        store_(cta.store_pipeline(warpgroup)),
        handed_back_(store_) {}

  /// The warp's whole life. One lane. (The grid isn't complete before the last stores are; they
  /// needn't be waited for.)
  __device__ __forceinline__ void run() {
    if ((Config::traits.direct_output && !cta_.args.has_residual) || !cta_.is_owner()) return;
    cta_.for_each_output_tile([&](const TilePart& part) {
      const int32_t row = part.row + GemmCta<Config>::warpgroup_row(warpgroup_);
      const int32_t column = part.column + cta_.first_output_column(warpgroup_);
      constexpr int kSlices = Config::kWaves * Config::kSlicesPerWave;
      int next_load = 0;
      if (cta_.args.has_residual) {
        for (; next_load < min(kSlices, Config::kSlots); ++next_load) load(row, column, next_load);
      }
      for (int first = 0; first < kSlices; first += Config::kSliceGroup) {
        const int end = first + Config::kSliceGroup;
        for (int slice = first; slice < end; ++slice) store(row, column, slice);
        if (first < kUnderWay) continue;
        ptx::bulk_wait_group_read<kUnderWay>();
        for (int slice = first; slice < end; ++slice) {
          hand_back();
          if (cta_.args.has_residual && next_load < kSlices) load(row, column, next_load++);
        }
      }
      if constexpr (kUnderWay > 0) {
        ptx::bulk_wait_group_read<0>();
        hand_back();
      }
    });
  }

 private:
  /// Stores that may be in flight when a slot is handed back: the next slice's, where slices go one
  /// by one and it has a slot. (The warpgroup fills a group only when it has all slots for it.)
  static constexpr int kUnderWay = Config::kSliceGroup == 1 && Config::kSlots > 1 ? 1 : 0;

  static __device__ __forceinline__ int32_t slice_row(int slice) {
    return slice / Config::kSlicesPerWave * kMmaRows;
  }
  static __device__ __forceinline__ int32_t slice_column(int slice) {
    return slice % Config::kSlicesPerWave * Config::kSliceColumns;
  }

  __device__ __forceinline__ void load(int32_t row, int32_t column, int slice) {
    auto stage = epi_load_.produce();
    // The warpgroup has read the C that was here, and written D, by ordinary accesses.
    ptx::fence_proxy_async_shared();
    stage.mbar()->arrive_and_expect_bytes(Config::kSliceBytes);
    ptx::tma_load_2d(ptx::shared_address(cta_.shared.slots[warpgroup_][stage.index()]),
                     &cta_.args.c, stage.mbar()->address(), column + slice_column(slice),
                     row + slice_row(slice));
  }

  /// Waits until the slice is in its slot, and starts to store it.
  __device__ __forceinline__ void store(int32_t row, int32_t column, int slice) {
    store_.wait_producer();
    // The slice was written by ordinary stores. One fence here, after the barrier, spares the
    // warpgroup's threads one each: the tensor cores wait while those wait.
    ptx::fence_proxy_async_shared();
    ptx::tma_store_2d(&cta_.args.d, column + slice_column(slice), row + slice_row(slice),
                      ptx::shared_address(cta_.shared.slots[warpgroup_][store_.consumer_stage()]));
    ptx::bulk_commit_group();
    store_.consumer_step();
  }

  /// Gives the oldest slot back to the warpgroup; its store has read it.
  __device__ __forceinline__ void hand_back() {
    handed_back_.consumer_mbar(handed_back_.consumer_stage())->arrive();
    handed_back_.consumer_step();
  }

  const GemmCta<Config>& cta_;
  uint32_t warpgroup_;
  typename Config::EpiLoad epi_load_;
  typename Config::StorePipeline store_;
  typename Config::StorePipeline handed_back_;  ///< the same ring, lagging by the slots in flight
};

}  // namespace bw::hopper
