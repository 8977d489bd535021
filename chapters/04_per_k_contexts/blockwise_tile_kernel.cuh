#pragma once
/// \file
/// Blockwise-scaled FP8 GEMM, one output tile per CTA: every K block has its own scales, so that
/// every K block has its own accumulator stage, which the epilogue promotes into registers.
///
///     load warp ──A, B, A-scales──▶ input ring ──▶ MMA warp ──▶ accumulators in TMEM ─┐
///                                            └──A-scales──▶ epilogue: acc += part · scales ──▶ D

#include <cstddef>
#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/fence.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/03_warp_contexts/output_row_writer.cuh"
#include "solutions/03_warp_contexts/tile_roles.cuh"
#include "solutions/04_per_k_contexts/b_scales.cuh"
#include "solutions/04_per_k_contexts/blockwise_fp8_accumulator.cuh"
#include "solutions/04_per_k_contexts/blockwise_tile_arguments.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "solutions/04_per_k_contexts/output_k_pipeline.cuh"

namespace bw {

/// Compile-time choices and shared memory.
template <int tile_n, int num_accumulators = 4>
struct BlockwiseTileConfig {
  static constexpr int kTileM = 128;                         ///< rows of a tile of D
  static constexpr int kTileN = tile_n;                      ///< columns of a tile of D
  static constexpr int kTileK = kScaleBlock;                 ///< elements of K in a block
  static constexpr int kNumInputStages = 4;                  ///< stages of the input ring
  static constexpr int kNumAccumulators = num_accumulators;  ///< accumulators of the ring

  /// The ring of accumulators.
  static constexpr OutputPipelineConfig kOutput{kNumAccumulators, tile_n, /*cta_group=*/1};
  /// What an input stage holds.
  using Payload = BlockwiseFp8TilePayload<kTileM, tile_n>;
  /// The input ring.
  using Input = InputTilePipeline<Payload, kNumInputStages>;
  /// The MMA warp's context.
  using MmaWarp = MmaWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;
  /// The epilogue warps' context.
  using EpilogueWarp =
      EpilogueWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;

  /// Input-full arrivals: the lane that announces the bytes.
  static constexpr uint32_t kInputProducerArrivals = 1;
  /// Input-empty arrivals: one MMA commit, and one per epilogue warp (A-scales read).
  static constexpr uint32_t kInputConsumerArrivals =
      1 + TileRoles::kEpilogueThreads / ptx::kWarpThreads;

  /// Contents of the CTA's shared memory; barriers come first (kBarrierRegionBytes).
  struct SharedStorage {
    SharedMemBarrier input_barriers[Input::Pipeline::kNumBarriers];  ///< barriers of the input ring
    /// Barriers of the ring of accumulators.
    SharedMemBarrier accumulator_barriers[2 * kNumAccumulators];
    SharedMemBarrier tmem_dealloc;  ///< counts the readers that are done with tensor memory
    uint32_t tmem_address;          ///< written by the allocation, read by the other roles
    typename Payload::template Storage<kNumInputStages> input;  ///< stages of A, B and A-scales
  };
  static_assert(offsetof(SharedStorage, tmem_address) < kBarrierRegionBytes,
                "barriers are in the first 8 KiB of shared memory");
};

/// The roles of one CTA. Each member function is the whole life of one role.
template <class Config>
struct BlockwiseTileRoles {
  const BlockwiseTileArguments& args;      ///< the kernel's arguments
  typename Config::SharedStorage& shared;  ///< the CTA's shared memory

  /// First row of the CTA's tile.
  __device__ __forceinline__ uint32_t row() const {
    return blockIdx.x % args.tiles_m * Config::kTileM;
  }
  /// First column of the CTA's tile.
  __device__ __forceinline__ uint32_t column() const {
    return blockIdx.x / args.tiles_m * Config::kTileN;
  }
  /// This thread's view of the input ring.
  __device__ __forceinline__ typename Config::Input input_pipeline() const {
    return {typename Config::Input::Pipeline(shared.input_barriers),
            Config::Payload::of(shared.input)};
  }

  /// One thread: every barrier of the CTA.
  __device__ __forceinline__ void init_barriers() const {
    input_pipeline().pipeline.init_barriers(Config::kInputProducerArrivals,
                                            Config::kInputConsumerArrivals);
    OutputTilePipeline<Config::kOutput>::init_barriers(shared.accumulator_barriers);
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  /// Load warp: fills the input ring with one K block after the other.
  __device__ __forceinline__ void load() const {
    auto input = input_pipeline();
    auto producer = input.producer();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto stage = producer.acquire();
      if (ptx::elect_one()) {
        const uint32_t full = stage.barrier()->address(), index = stage.tile_index();
        const auto& tiles = stage.payload();
        const int32_t k = k_block * Config::kTileK;
        // >>> exercise 4.4 "Three copies, one arrival"
        // Announce what this stage's copies will bring, then start them: A from (k,
        // row()), B from (k, column()), the A-scales from (row(), k_block).
        BW_EXERCISE_NOT_DONE("4.4", "Three copies, one arrival");
        // <<< exercise 4.4
      }
      __syncwarp();
    }
    producer.drain();
  }

  /// MMA warp: multiplies each K block into an accumulator of its own. While it waits for an empty
  /// accumulator, it already knows whether the operands are there.
  __device__ __forceinline__ void multiply() const {
    auto mma = Config::MmaWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                       &shared.tmem_dealloc, mma_complete_mask<1>(0));
    auto input = input_pipeline();
    auto consumer = input.consumer();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const bool ready = consumer.try_acquire();
      auto accumulator = mma.per_k_stage();
      auto operands = consumer.acquire_if_needed(ready);
      if (ptx::elect_one()) {
        const uint32_t index = operands.tile_index();
        multiply_k_block<Config::kTileM, Config::kTileN, 1>(
            accumulator.stage().tmem().offset(), operands.payload().a_tile(index),
            operands.payload().b_tile(index), /*accumulate=*/false);
        ptx::tcgen05_commit<1>(operands.barrier()->address());
      }
      __syncwarp();
    }
  }

  /// Epilogue warps: promote every K block by its scales, then write the tile, a row per thread.
  __device__ __forceinline__ void write() const {
    Config::EpilogueWarp::Sync::wait();
    auto epilogue = Config::EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                                 &shared.tmem_dealloc, mma_complete_mask<1>(0));
    auto input = input_pipeline();
    BlockwiseFp8Accumulator<Config::kTileM, Config::kTileN> accumulator;
    accumulator.zero();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const BScalePair b_scales = args.b_scales.template pair_at<Config::kTileN>(column(), k_block);
      auto k_context = epilogue.per_k_stage(input);
      accumulator.promote(k_context.stage(),
                          input.payload.a_scales_tile(k_context.input_stage_index()), b_scales);
    }
    write_output_row<Config::kTileN>(args.d, row() + threadIdx.x, column(), accumulator);
  }
};

/// Entry: TileRoles::kThreads threads, one CTA per output tile, sizeof(SharedStorage) bytes of
/// dynamic shared memory, whose base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(TileRoles::kThreads, 1) void blockwise_tile_kernel(
    const __grid_constant__ BlockwiseTileArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const BlockwiseTileRoles<Config> roles{
      args, *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared)};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncthreads();
  run_role(roles);
}

}  // namespace bw
