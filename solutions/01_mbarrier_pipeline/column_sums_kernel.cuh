#pragma once
/// \file
/// Column sums of a matrix that streams through a ring of tiles in shared memory:
///
///     producer warp ──tiles──▶ ring of NumStages tiles ──▶ four consumer warps ──▶ sums

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/01_mbarrier_pipeline/tile_copies.cuh"

namespace bw {

/// Warps of the CTA by role: consumer thread t owns column t of the band, warp 4 produces.
struct StreamRoles {
  static constexpr uint32_t kConsumerThreads = kTileColumns;  ///< one for each column of a tile
  /// The warp after the consumers.
  static constexpr uint32_t kProducerWarp = kConsumerThreads / ptx::kWarpThreads;
  static constexpr uint32_t kThreads = kConsumerThreads + ptx::kWarpThreads;  ///< threads of a CTA
};

/// The kernel's dynamic shared memory.
template <int NumStages>
struct StreamStorage {
  MatrixTile tiles[NumStages];  ///< one for each stage
  SharedMemBarrier barriers[ProducerConsumerPipeline<NumStages>::kNumBarriers];  ///< of the ring
};

/// Producer warp: fills one stage after the other, as they come free.
template <class Copy, int NumStages>
__device__ __forceinline__ void produce_tiles(ProducerConsumerPipeline<NumStages> pipeline,
                                              StreamStorage<NumStages>& shared,
                                              const ColumnSumArguments& args, uint32_t num_tiles) {
  for (uint32_t tile = 0; tile < num_tiles; ++tile) {
    auto stage = pipeline.produce();
    Copy::fill(args, TileRegion::of(args, tile), shared.tiles[stage.index()], stage.mbar());
  }
}

/// Consumer warps: the sum of this thread's column, from the first row to the last.
template <int NumStages>
__device__ __forceinline__ float consume_tiles(ProducerConsumerPipeline<NumStages> pipeline,
                                               const StreamStorage<NumStages>& shared,
                                               const ColumnSumArguments& args, uint32_t num_tiles) {
  float sum = 0.0f;
  for (uint32_t tile = 0; tile < num_tiles; ++tile) {
    const uint32_t rows = TileRegion::of(args, tile).rows;
    auto stage = pipeline.consume();
    const MatrixTile& values = shared.tiles[stage.index()];
#pragma unroll 8
    for (uint32_t row = 0; row < rows; ++row) sum += values.values[row][threadIdx.x];
    ptx::fence_proxy_async_shared();  // the copy engine will overwrite what was read
  }
  return sum;
}

/// Entry: StreamRoles::kThreads threads, one CTA per kTileColumns columns,
/// sizeof(StreamStorage<NumStages>) bytes of dynamic shared memory.
template <int NumStages, class Copy>
__global__ __launch_bounds__(StreamRoles::kThreads) void column_sums_kernel(
    const __grid_constant__ ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<StreamStorage<NumStages>*>(dynamic_shared);
  ProducerConsumerPipeline<NumStages> pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(Copy::kProducerArrivals, StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const uint32_t num_tiles = (args.rows + kTileRows - 1) / kTileRows;
  if (threadIdx.x / ptx::kWarpThreads == StreamRoles::kProducerWarp) {
    produce_tiles<Copy>(pipeline, shared, args, num_tiles);
    return;
  }
  const int64_t begin = clock64();
  const float sum = consume_tiles(pipeline, shared, args, num_tiles);
  const uint32_t column = blockIdx.x * kTileColumns + threadIdx.x;
  if (column < args.columns) args.sums[column] = sum;
  if (threadIdx.x == 0) args.cycles[blockIdx.x] = clock64() - begin;
}

}  // namespace bw
