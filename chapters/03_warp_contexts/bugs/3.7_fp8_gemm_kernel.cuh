#pragma once
/// \file
/// FP8 GEMM with one scale per tensor: D = scale · A · Bᵀ. Several output tiles per CTA; while the
/// epilogue writes one, the MMA warp multiplies the next into another accumulator.
///
///     load warp ──A, B──▶ input ring ──▶ MMA warp ──▶ accumulators in TMEM ──▶ epilogue ──▶ D

#include <cstddef>
#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/fp8_gemm_arguments.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/03_warp_contexts/output_role_views.cuh"
#include "solutions/03_warp_contexts/output_row_writer.cuh"
#include "solutions/03_warp_contexts/tile_roles.cuh"

namespace bw {

/// Compile-time choices and shared memory.
template <int num_accumulators>
struct Fp8GemmConfig {
  using Tile = Fp8GemmTile;                  ///< the tile's shape
  static constexpr int kNumInputStages = 4;  ///< stages of the input ring
  /// The ring of accumulators.
  static constexpr OutputPipelineConfig kOutput{num_accumulators, Tile::kN / 2, /*cta_group=*/1};
  using Input = ProducerConsumerPipeline<kNumInputStages>;  ///< the input ring
  /// The MMA warp's context.
  using MmaWarp = MmaWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;
  /// The epilogue warps' context.
  using EpilogueWarp =
      EpilogueWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;

  /// Contents of the CTA's shared memory; barriers come first (kBarrierRegionBytes).
  struct SharedStorage {
    SharedMemBarrier input_barriers[Input::kNumBarriers];  ///< barriers of the input ring
    /// Barriers of the ring of accumulators.
    SharedMemBarrier accumulator_barriers[2 * num_accumulators];
    SharedMemBarrier tmem_dealloc;  ///< counts the readers that are done with tensor memory
    uint32_t tmem_address;          ///< written by the allocation, read by the other roles
    alignas(1024) uint8_t a[kNumInputStages][Tile::kABytes];  ///< tiles of A
    alignas(1024) uint8_t b[kNumInputStages][Tile::kBBytes];  ///< tiles of B
  };
  static_assert(offsetof(SharedStorage, tmem_address) < kBarrierRegionBytes,
                "barriers are in the first 8 KiB of shared memory");
};

/// The roles of one CTA. Each member function is the whole life of one role.
template <class Config>
struct Fp8GemmRoles {
  using Tile = typename Config::Tile;  ///< the tile's shape

  const Fp8GemmArguments& args;            ///< the kernel's arguments
  typename Config::SharedStorage& shared;  ///< the CTA's shared memory

  /// One thread: every barrier of the CTA.
  __device__ __forceinline__ void init_barriers() const {
    typename Config::Input(shared.input_barriers).init_barriers(1, 1);  // one TMA, one commit
    OutputTilePipeline<Config::kOutput>::init_barriers(shared.accumulator_barriers);
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  /// Calls `body(row, column)` for every tile of this CTA: all roles walk the same tiles.
  template <class Body>
  __device__ __forceinline__ void for_each_tile(const Body& body) const {
    for (uint32_t tile = blockIdx.x; tile < args.tiles_m * args.tiles_n; tile += gridDim.x) {
      body(tile % args.tiles_m * Tile::kM, tile / args.tiles_m * Tile::kN);
    }
  }

  /// Load warp: fills the input ring with one K block after the other.
  __device__ __forceinline__ void load() const {
    typename Config::Input input(shared.input_barriers);
    for_each_tile([&](uint32_t row, uint32_t column) {
      for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
        auto stage = input.produce();
        if (ptx::elect_one()) {
          const uint32_t full = stage.mbar()->address(), index = stage.index();
          const int32_t k = k_block * Tile::kK;
          stage.mbar()->arrive_and_expect_bytes(Tile::kABytes + Tile::kBBytes);
          ptx::tma_load_2d(ptx::shared_address(shared.a[index]), &args.a, full, k, row);
          ptx::tma_load_2d(ptx::shared_address(shared.b[index]), &args.b, full, k, column);
        }
        __syncwarp();
      }
    });
    input.producer_drain();
  }

  /// MMA warp: multiplies all K blocks of a tile into one accumulator.
  __device__ __forceinline__ void multiply() const {
    auto mma = Config::MmaWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                       &shared.tmem_dealloc, mma_complete_mask<1>(0));
    typename Config::Input input(shared.input_barriers);
    for_each_tile([&](uint32_t, uint32_t) {
      auto accumulator = mma.output_pipeline().producer().acquire();
      for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
        // Right lines, not shown here: you write them in exercise 3.2.
        //
        //
        //
        //
        //
        //
        //
      }
    });
  }

  /// Epilogue warps: thread t takes row t of the tile, frees the accumulator, writes the row.
  __device__ __forceinline__ void write() const {
    Config::EpilogueWarp::Sync::wait();
    auto epilogue = Config::EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                                 &shared.tmem_dealloc, mma_complete_mask<1>(0));
    for_each_tile([&](uint32_t row, uint32_t column) {
      auto accumulator = epilogue.output_pipeline().consumer().acquire();
      float values[Tile::kN];
      float scale = args.scale;
      accumulator.tmem().tensor().load_32x32b(values);
      TmemAddress::wait_load_before_uses_of(scale);
      // Right lines, not shown here: you write them in exercise 3.9.
      //
      //
      //
      __syncwarp();  // rows beyond M were not written; the next tile's load is .aligned
    });
  }
};

/// Entry: TileRoles::kThreads threads, any 1-D grid, sizeof(SharedStorage) bytes of dynamic shared
/// memory, whose base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(TileRoles::kThreads, 1) void fp8_gemm_kernel(
    const __grid_constant__ Fp8GemmArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const Fp8GemmRoles<Config> roles{
      args, *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared)};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncthreads();
  run_role(roles);
}

}  // namespace bw
