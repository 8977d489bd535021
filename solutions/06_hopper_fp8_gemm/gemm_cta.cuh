#pragma once
/// \file
/// What all roles of a CTA share: arguments, shared memory, the rings, the tiles to compute.

#include <cuda.h>

#include <cstdint>

#include "common/device/fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/06_hopper_fp8_gemm/kernel_config.cuh"

namespace bw::hopper {

/// One CTA. Every role makes its own copies of the rings it uses: they are values in registers
/// over the same barriers.
template <class Config>
struct GemmCta {
  using Shared = typename Config::SharedStorage;

  const GemmKernelArguments& args;
  Shared& shared;
  uint32_t rank;  ///< in the cluster

  __device__ __forceinline__ typename Config::InputPipeline input_pipeline() const {
    return {typename Config::InputPipeline::Pipeline(shared.input_barriers),
            Config::Payload::of(shared.input)};
  }
  __device__ __forceinline__ typename Config::EpiLoad epi_load_pipeline(uint32_t warpgroup) const {
    return typename Config::EpiLoad(shared.epi_load_barriers[warpgroup]);
  }
  __device__ __forceinline__ typename Config::StorePipeline store_pipeline(
      uint32_t warpgroup) const {
    return typename Config::StorePipeline(shared.store_barriers[warpgroup]);
  }
  __device__ __forceinline__ typename Config::Cluster cluster() const {
    return Config::Cluster::of_rank(Config::kSplitK > 1 ? 0 : rank);
  }

  /// The K blocks of this CTA: all, or its part of a split tile.
  __device__ __forceinline__ uint32_t first_k_block() const {
    return Config::kSplitK == 1 ? 0 : args.k_blocks * rank / Config::kSplitK;
  }
  __device__ __forceinline__ uint32_t end_k_block() const {
    return Config::kSplitK == 1 ? args.k_blocks : args.k_blocks * (rank + 1) / Config::kSplitK;
  }

  /// Calls `body(row, column)` for each of this CTA's tiles with its first element: cluster i of G
  /// computes pieces i, i + G, i + 2G, … of the raster. All roles walk the same way.
  template <class Body>
  __device__ __forceinline__ void for_each_tile(Body&& body) const {
    const auto place = cluster();
    const uint32_t clusters = gridDim.x / Config::kClusterSize;
    for (uint32_t piece = blockIdx.x / Config::kClusterSize; piece < args.raster.size();
         piece += clusters) {
      const WorkTile tile = args.raster.tile(piece);
      body(
          static_cast<int32_t>((tile.m * Config::traits.cluster_m + place.rank_m) * Config::kTileM),
          static_cast<int32_t>((tile.n * Config::traits.cluster_n + place.rank_n) *
                               Config::kTileN));
    }
  }

  /// Where, within the tile, the part of a math warpgroup begins.
  static __device__ __forceinline__ int32_t warpgroup_row(uint32_t warpgroup) {
    return warpgroup / Config::kWarpgroupsAlongN * Config::kWarpgroupRows;
  }
  static __device__ __forceinline__ int32_t warpgroup_column(uint32_t warpgroup) {
    return warpgroup % Config::kWarpgroupsAlongN * Config::kWarpgroupColumns;
  }
  /// First column, within the tile, of what a math warpgroup of this CTA writes.
  __device__ __forceinline__ int32_t first_output_column(uint32_t warpgroup) const {
    return warpgroup_column(warpgroup) + (Config::kSplitK == 1 ? 0 : rank * Config::kOutputColumns);
  }

  /// One thread: every barrier of the CTA.
  __device__ __forceinline__ void init_barriers() const {
    input_pipeline().pipeline.init_barriers(1, Config::kInputConsumerArrivals);
#pragma unroll
    for (uint32_t warpgroup = 0; warpgroup < kMathWarpgroups; ++warpgroup) {
      epi_load_pipeline(warpgroup).init_barriers(1, kWarpgroupThreads);
      store_pipeline(warpgroup).init_barriers(kWarpgroupThreads, 1);
    }
    ptx::fence_mbarrier_init();
  }
};

}  // namespace bw::hopper
