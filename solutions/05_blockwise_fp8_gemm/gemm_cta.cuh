#pragma once
/// \file
/// What all roles of a CTA share: arguments, shared memory, the rings, the CTA's place.

#include <cuda.h>

#include <cstdint>

#include "common/device/fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"

namespace bw {

/// One CTA. Every role makes its own copies of the rings it uses: they are values in registers
/// over the same barriers.
template <class Config>
struct GemmCta {
  using Shared = typename Config::SharedStorage;  ///< contents of the CTA's shared memory

  const GemmKernelArguments& args;   ///< the kernel's arguments
  Shared& shared;                    ///< the CTA's shared memory
  typename Config::Cluster cluster;  ///< the CTA's place in its cluster

  /// This thread's view of the input ring.
  __device__ __forceinline__ typename Config::InputPipeline input_pipeline() const {
    return {typename Config::InputPipeline::Pipeline(shared.input_barriers),
            Config::Payload::of(shared.input)};
  }
  /// This thread's view of the ring of C.
  __device__ __forceinline__ typename Config::EpiLoad epi_load_pipeline() const {
    return typename Config::EpiLoad(shared.epi_load_barriers);
  }
  /// This thread's view of the order of loads.
  __device__ __forceinline__ typename Config::LoadOrder load_order() const {
    return typename Config::LoadOrder(shared.load_order_barriers);
  }
  /// This thread's view of the scheduler.
  __device__ __forceinline__ typename Config::TileScheduler tile_scheduler() const {
    return {shared.schedule_barriers, shared.schedule_messages, args.raster};
  }
  /// Which CTAs a commit tells.
  __device__ __forceinline__ uint16_t complete_mask() const {
    return mma_complete_mask<Config::kCtaGroup>(cluster.rank);
  }

  /// First row and column of D that this CTA computes of `tile`. A pair's two CTAs have the rows
  /// of their MMA one after the other, and the same columns.
  __device__ __forceinline__ int32_t row_of(const WorkTile& tile) const {
    return (tile.m * Config::traits.cluster_m + cluster.rank_m) * Config::kCtaRows;
  }
  /// First column of the CTA's part of a tile.
  __device__ __forceinline__ int32_t column_of(const WorkTile& tile) const {
    return (tile.n * Config::traits.cluster_n + cluster.rank_n) * Config::kMmaN;
  }

  /// One thread: every barrier of the CTA, by the arrive counts of the contract.
  __device__ __forceinline__ void init_barriers() const {
    input_pipeline().pipeline.init_barriers(Config::kInputProducerArrivals,
                                            Config::kInputConsumerArrivals);
    OutputTilePipeline<Config::kOutput>::init_barriers(shared.accumulator_barriers);
    epi_load_pipeline().init_barriers(Config::EpiLoad::kProducerArrivals,
                                      Config::Roles::kEpilogueThreads);
    load_order().init_barriers();
    tile_scheduler().init_barriers();
    typename Config::MmaWarp::Dealloc{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }
};

}  // namespace bw
