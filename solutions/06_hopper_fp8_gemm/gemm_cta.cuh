#pragma once
/// \file
/// What all roles of a CTA share: arguments, shared memory, the rings, the tiles to compute.

#include <cuda.h>

#include <cstdint>

#include "common/device/fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/06_hopper_fp8_gemm/hopper_gemm_arguments.cuh"
#include "solutions/06_hopper_fp8_gemm/kernel_config.cuh"

namespace bw::hopper {

/// What a CTA computes at a time: K blocks `first` to `end` - 1 of the tile whose first element is
/// (row, column). `piece`: its cluster's, in the raster.
struct TilePart {
  int32_t row;     ///< first row
  int32_t column;  ///< first column
  uint32_t first;  ///< first K block
  uint32_t end;    ///< after the last K block
  uint32_t piece;  ///< number of the piece of K
  /// With `grouped`: which product.
  uint32_t group = 0;
};

/// One CTA. Every role makes its own copies of the rings it uses: they are values in registers
/// over the same barriers.
template <class Config>
struct GemmCta {
  using Shared = typename Config::SharedStorage;  ///< contents of the CTA's shared memory

  const HopperGemmArguments& args;  ///< the kernel's arguments
  Shared& shared;                   ///< the CTA's shared memory
  uint32_t rank;                    ///< in the cluster

  /// This thread's view of the input ring.
  __device__ __forceinline__ typename Config::InputPipeline input_pipeline() const {
    return {typename Config::InputPipeline::Pipeline(shared.input_barriers),
            Config::Payload::of(shared.input)};
  }
  /// This thread's view of the ring of C.
  __device__ __forceinline__ typename Config::EpiLoad epi_load_pipeline(uint32_t warpgroup) const {
    return typename Config::EpiLoad(shared.epi_load_barriers[warpgroup]);
  }
  /// This thread's view of the ring of output slots.
  __device__ __forceinline__ typename Config::StorePipeline store_pipeline(
      uint32_t warpgroup) const {
    return typename Config::StorePipeline(shared.store_barriers[warpgroup]);
  }
  /// The CTA's place in its cluster.
  __device__ __forceinline__ typename Config::Cluster cluster() const {
    return Config::Cluster::of_rank(Config::kSplitK > 1 ? 0 : rank);
  }

  /// Number of this cluster in the grid.
  __device__ __forceinline__ uint32_t cluster_index() const {
    return blockIdx.x / Config::kClusterSize;
  }

  /// Calls `body(part)` for all that this CTA computes; every role walks the same way. Cluster i of
  /// G: the pieces i, i + G, i + 2G, … of the raster, with stream_k then its parts of split ones.
  /// Of each all K blocks, or with split_k the CTA's part. With `grouped` tiles in the order of the
  /// GroupSchedule.
  template <class Body>
  __device__ __forceinline__ void for_each_part(Body&& body) const {
    if constexpr (Config::traits.grouped) {
      args.groups.for_each_tile(cluster_index(), gridDim.x, [&](const GroupTile& tile) {
        body(TilePart{static_cast<int32_t>(tile.row_block * Config::kTileM),
                      static_cast<int32_t>(tile.n * Config::kTileN), 0, args.k_blocks, 0,
                      tile.group});
      });
    } else if constexpr (Config::kStreamK) {
      args.stream_k.schedule.for_each_part(cluster_index(),
                                           [&](const PiecePart& part) { body(tile_part(part)); });
    } else {
      const uint32_t first = Config::kSplitK == 1 ? 0 : args.k_blocks * rank / Config::kSplitK;
      const uint32_t end =
          Config::kSplitK == 1 ? args.k_blocks : args.k_blocks * (rank + 1) / Config::kSplitK;
      const uint32_t clusters = gridDim.x / Config::kClusterSize;
      for (uint32_t piece = cluster_index(); piece < args.fast_raster.size(); piece += clusters) {
        body(tile_part({piece, first, end}));
      }
    }
  }

  /// The tiles of which this CTA writes all or its share, in the order in which it does: with
  /// stream_k not those of which it leaves a partial sum to the owner.
  template <class Body>
  __device__ __forceinline__ void for_each_output_tile(Body&& body) const {
    if constexpr (Config::kStreamK) {
      args.stream_k.schedule.for_each_output_piece(cluster_index(), [&](uint32_t piece) {
        body(tile_part({piece, 0, args.k_blocks}));
      });
    } else {
      for_each_part(body);
    }
  }

  /// Whether this CTA writes its share of the tiles that it computes.
  __device__ __forceinline__ bool is_owner() const {
    return Config::kSplitK == Config::kOwners || rank < Config::kOwners;
  }

  /// Where, within the tile, the part of a math warpgroup begins.
  static __device__ __forceinline__ int32_t warpgroup_row(uint32_t warpgroup) {
    return warpgroup / Config::kWarpgroupsAlongN * Config::kWarpgroupRows;
  }
  /// First column of a warpgroup in the tile.
  static __device__ __forceinline__ int32_t warpgroup_column(uint32_t warpgroup) {
    return warpgroup % Config::kWarpgroupsAlongN * Config::kWarpgroupColumns;
  }
  /// First column, within the tile, of what a math warpgroup of this CTA writes.
  __device__ __forceinline__ int32_t first_output_column(uint32_t warpgroup) const {
    return warpgroup_column(warpgroup) + (Config::kSplitK == 1 ? 0 : rank * Config::kOutputColumns);
  }

  /// First row, in B, of the tile's columns: with `grouped` the products' B are stacked.
  __device__ __forceinline__ int32_t b_row(const TilePart& part) const {
    if constexpr (Config::traits.grouped) {
      return part.column + static_cast<int32_t>(part.group * args.groups.n);
    } else {
      return part.column;
    }
  }

  /// This CTA's tile in a piece.
  __device__ __forceinline__ TilePart tile_part(const PiecePart& part) const {
    const auto place = cluster();
    const WorkTile tile = args.fast_raster.tile(part.piece);
    return {
        static_cast<int32_t>((tile.m * Config::traits.cluster_m + place.rank_m) * Config::kTileM),
        static_cast<int32_t>((tile.n * Config::traits.cluster_n + place.rank_n) * Config::kTileN),
        part.first, part.end, part.piece};
  }

  /// One thread: the input ring's barriers.
  __device__ __forceinline__ void init_input_barriers() const {
    input_pipeline().pipeline.init_barriers(Config::kInputProducerArrivals,
                                            Config::kInputConsumerArrivals);
    ptx::fence_mbarrier_init();
  }
  /// One thread: the barriers of a math warpgroup's slots, and of the sums that come to it.
  __device__ __forceinline__ void init_slot_barriers(uint32_t warpgroup) const {
    epi_load_pipeline(warpgroup).init_barriers(Config::kEpiLoadProducerArrivals,
                                               Config::kEpiLoadConsumerArrivals);
    store_pipeline(warpgroup).init_barriers(Config::kStoreProducerArrivals,
                                            Config::kStoreConsumerArrivals);
    if constexpr (Config::kSplitK > 1) {
      shared.sums_arrived[warpgroup].init(Config::kSumsArrivals);
    }
    ptx::fence_mbarrier_init();
  }
};

}  // namespace bw::hopper
