#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM kernel: D = A · Bᵀ (scaled per block) + beta · C.
///
///     load warp ──A,B,A-scales──▶ input ring ──▶ MMA warp ──▶ accumulator ring ──▶ epilogue ──▶ D
///     epilogue-load warp ──C──▶ C ring ─────────────────────────────────────────────▲
///     scheduler warp ──work tiles──▶ every role

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/scale_block.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/04_per_k_contexts/blockwise_fp8_accumulator.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/04_per_k_contexts/mma_k_stage.cuh"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"
#include "solutions/05_blockwise_fp8_gemm/output_tile_writer.cuh"

namespace bw {

/// The roles of one CTA. Each member function is the whole life of one role.
template <class Config>
struct GemmRoles {
  using Shared = typename Config::SharedStorage;
  using Arguments = GemmKernelArguments;

  const Arguments& args;
  Shared& shared;

  __device__ __forceinline__ typename Config::InputPipeline input_pipeline() const {
    return {typename Config::InputPipeline::Pipeline(shared.input_barriers),
            Config::Payload::of(shared.input)};
  }
  __device__ __forceinline__ typename Config::EpiLoad epi_load_pipeline() const {
    return typename Config::EpiLoad(shared.epi_load_barriers);
  }
  __device__ __forceinline__ typename Config::WorkTiles work_tiles() const {
    return {shared.work_tile_barriers, shared.work_tiles};
  }

  /// One thread: every barrier of the CTA, by the arrive counts of the contract.
  __device__ __forceinline__ void init_barriers() const {
    input_pipeline().pipeline.init_barriers(1, Config::kInputConsumerArrivals);
    OutputTilePipeline<Config::kOutput>::init_barriers(shared.accumulator_barriers);
    epi_load_pipeline().init_barriers(1, WarpRoles::kEpilogueThreads);
    work_tiles().init_barriers();
    TmemDeallocBarrier<Config::kCtaGroup>{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  /// Scheduler warp: publishes this CTA's tiles, then the message that ends the work.
  __device__ __forceinline__ void schedule() const {
    const StaticTileScheduler scheduler{args.tiles_m, args.tiles_n};
    auto tiles = work_tiles();
    WorkTile tile;
    uint32_t round = 0;
    do {
      tile = scheduler.tile(blockIdx.x, gridDim.x, round++);
      tiles.publish(tile);
    } while (tile.valid);
  }

  /// Load warp: fills the input ring with one K block after the other.
  __device__ __forceinline__ void load() const {
    auto input = input_pipeline();
    auto producer = input.producer();
    auto tiles = work_tiles();
    WorkTile tile;
    while (tiles.next(tile)) {
      const int32_t row = tile.m * Config::kTileM;
      const int32_t column = tile.n * Config::kTileN;
      for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
        auto stage = producer.acquire();
        if (ptx::elect_one()) {
          stage.expect_bytes(Config::Payload::kStageBytes);
          const uint32_t index = stage.tile_index();
          const uint32_t full = stage.barrier()->address();
          const int32_t k = k_block * Config::kTileK;
          ptx::tma_load_2d(ptx::shared_address(stage.payload().a_tile(index)), &args.a, full, k,
                           row);
          ptx::tma_load_2d(ptx::shared_address(stage.payload().b_tile(index)), &args.b, full, k,
                           column);
          ptx::tma_load_2d(ptx::shared_address(stage.payload().a_scales_tile(index)),
                           &args.a_scales, full, row, k_block);
        }
        __syncwarp();
      }
    }
    producer.drain();
  }

  /// MMA warp: multiplies one K block into each accumulator stage.
  __device__ __forceinline__ void multiply() const {
    constexpr uint32_t kInstruction =
        make_e4m3_instruction_descriptor<Config::kTileM, Config::kTileN, Config::kCtaGroup>();
    auto mma =
        Config::MmaWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                &shared.tmem_dealloc, mma_complete_mask<Config::kCtaGroup>(0));
    auto input = input_pipeline();
    auto consumer = input.consumer();
    auto tiles = work_tiles();
    WorkTile tile;
    while (tiles.next(tile)) {
      for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
        auto accumulator = mma.per_k_stage();
        auto operands = consumer.acquire();
        if (ptx::elect_one()) {
          const uint32_t index = operands.tile_index();
          const uint64_t a = make_k_major_descriptor(
              ptx::shared_address(operands.payload().a_tile(index)), Config::kSwizzle);
          const uint64_t b = make_k_major_descriptor(
              ptx::shared_address(operands.payload().b_tile(index)), Config::kSwizzle);
          const uint32_t d = accumulator.stage().tmem().offset();
#pragma unroll
          for (int k = 0; k < Config::kTileK; k += Config::kMmaK) {
            ptx::tcgen05_mma_f8f6f4<Config::kCtaGroup>(d, advance_descriptor(a, k),
                                                       advance_descriptor(b, k), kInstruction,
                                                       /*accumulate=*/k > 0);
          }
          ptx::tcgen05_commit<Config::kCtaGroup>(operands.barrier()->address());
        }
        __syncwarp();
      }
    }
  }

  /// Epilogue-load warp: prefetches the slices of C that the epilogue adds.
  __device__ __forceinline__ void load_residual() const {
    auto epi_load = epi_load_pipeline();
    auto tiles = work_tiles();
    WorkTile tile;
    while (tiles.next(tile)) {
      if (!args.has_residual) continue;
      const int32_t row = tile.m * Config::kTileM;
      const int32_t column = tile.n * Config::kTileN;
#pragma unroll
      for (int slice = 0; slice < Config::kSlicesPerTile; ++slice) {
        auto stage = epi_load.produce();
        if (ptx::elect_one()) {
          stage.mbar()->arrive_and_expect_bytes(Config::kSliceBytes);
          ptx::tma_load_2d(ptx::shared_address(shared.c_slices[stage.index()]), &args.c,
                           stage.mbar()->address(), column + slice * Config::kSliceColumns, row);
        }
        __syncwarp();
      }
    }
  }

  /// Epilogue warps: promote every K block by its scales, then write the tile.
  __device__ __forceinline__ void write_tiles() const {
    Config::EpilogueWarp::Sync::wait();
    auto epilogue =
        Config::EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                     &shared.tmem_dealloc, mma_complete_mask<Config::kCtaGroup>(0));
    auto input = input_pipeline();
    auto epi_load = epi_load_pipeline();
    auto tiles = work_tiles();
    OutputTileWriter<Config> writer(shared.d_slices[0], &args.d);
    BlockwiseFp8Accumulator<Config::kTileM, Config::kTileN> accumulator;
    WorkTile tile;
    while (tiles.next(tile)) {
      const int32_t row = tile.m * Config::kTileM;
      const int32_t column = tile.n * Config::kTileN;
      accumulator.zero();
      for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
        const BScalePair b_scales = load_b_scales(column, k_block);
        auto k_context = epilogue.per_k_stage(input);
        accumulator.promote(k_context.stage(),
                            input.payload.a_scales_tile(k_context.input_stage_index()), b_scales);
      }
      writer.write(accumulator, row, column, epi_load, shared.c_slices[0], args.has_residual,
                   args.beta);
    }
    writer.finish();
  }

  /// The B-scales of K block `k_block` for the tile that starts at `column`, from global memory.
  __device__ __forceinline__ BScalePair load_b_scales(uint32_t column, uint32_t k_block) const {
    const uint32_t scale_row = column / kScaleBlock;
    const float* scale = args.b_scales + scale_row * args.b_scales_stride + k_block;
    const int boundary = kScaleBlock - column % kScaleBlock;
    const bool has_second = boundary < Config::kTileN && scale_row + 1 < args.b_scale_rows;
    return BScalePair{scale[0], has_second ? scale[args.b_scales_stride] : 0.0f, boundary};
  }
};

/// Entry: WarpRoles::kThreads threads, any 1-D grid (persistent), sizeof(SharedStorage) bytes of
/// dynamic shared memory, whose base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(WarpRoles::kThreads, 1) void blockwise_fp8_gemm_kernel(
    const __grid_constant__ GemmKernelArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const GemmRoles<Config> roles{args,
                                *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared)};
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);

  if (warp == WarpRoles::kSchedulerWarp && ptx::elect_one()) roles.init_barriers();
  if (warp == WarpRoles::kLoadWarp && ptx::elect_one()) {
    ptx::prefetch_tensormap(&args.a);
    ptx::prefetch_tensormap(&args.b);
    ptx::prefetch_tensormap(&args.a_scales);
    ptx::prefetch_tensormap(&args.d);
    if (args.has_residual) ptx::prefetch_tensormap(&args.c);
  }
  __syncthreads();

  switch (warp) {
    case WarpRoles::kSchedulerWarp:
      return roles.schedule();
    case WarpRoles::kLoadWarp:
      return roles.load();
    case WarpRoles::kMmaWarp:
      return roles.multiply();
    case WarpRoles::kEpilogueLoadWarp:
      return roles.load_residual();
    default:
      return roles.write_tiles();
  }
}

}  // namespace bw
