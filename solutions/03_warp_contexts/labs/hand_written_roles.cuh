#pragma once
/// \file
/// The roles of this chapter's GEMM with every wait, fence and arrival written out: what the warp
/// contexts will take over. The labs choose how deep the rings are, and when the epilogue hands an
/// accumulator back.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/03_warp_contexts/fp8_gemm_arguments.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/03_warp_contexts/labs/lab_run.hpp"
#include "solutions/03_warp_contexts/output_row_writer.cuh"
#include "solutions/03_warp_contexts/tile_roles.cuh"

namespace bw {

/// When the epilogue says that an accumulator may be overwritten: after its row is in global
/// memory, or as soon as the row is in registers.
enum class Release { kAfterTheStore, kAfterTheLoad };

/// The roles of one CTA.
template <int NumInputStages, int num_accumulators, Release release>
struct HandWrittenRoles {
  using Tile = Fp8GemmTile;                                         ///< the tile's shape
  using Input = ProducerConsumerPipeline<NumInputStages>;           ///< the input ring
  using Accumulators = ProducerConsumerPipeline<num_accumulators>;  ///< the ring of accumulators
  using Tmem = TmemAllocation<1>;  ///< the allocation of tensor memory
  /// The barrier after which the address of tensor memory may be read.
  using TmemReady = WarpGroupBarrier<TileRoles::kMmaThreads + TileRoles::kEpilogueThreads, 1>;
  static constexpr int kNumAccumulators = num_accumulators;  ///< accumulators of the ring

  /// Contents of the CTA's shared memory.
  struct alignas(1024) SharedStorage {
    uint8_t a[NumInputStages][Tile::kABytes];              ///< tiles or rows of A
    uint8_t b[NumInputStages][Tile::kBBytes];              ///< tiles or rows of B
    SharedMemBarrier input_barriers[Input::kNumBarriers];  ///< barriers of the input ring
    /// Barriers of the ring of accumulators.
    SharedMemBarrier accumulator_barriers[Accumulators::kNumBarriers];
    SharedMemBarrier tmem_dealloc;  ///< counts the readers that are done with tensor memory
    uint32_t tmem_address;          ///< written by the allocation, read by the other roles
  };

  const Fp8GemmArguments& args;  ///< the kernel's arguments
  SharedStorage& shared;         ///< the CTA's shared memory

  /// One thread: every barrier of the CTA.
  __device__ __forceinline__ void init_barriers() const {
    Input(shared.input_barriers).init_barriers(1, 1);  // one expect_tx, one commit
    Accumulators(shared.accumulator_barriers).init_barriers(1, TileRoles::kEpilogueThreads);
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  /// Calls `body(row, column)` for the tiles blockIdx.x, blockIdx.x + gridDim.x, …
  template <class Body>
  __device__ __forceinline__ void for_each_tile(const Body& body) const {
    for (uint32_t tile = blockIdx.x; tile < args.tiles_m * args.tiles_n; tile += gridDim.x) {
      body(tile % args.tiles_m * Tile::kM, tile / args.tiles_m * Tile::kN);
    }
  }

  /// Load warp: fills the input ring with one K block after the other.
  __device__ __forceinline__ void load() const {
    Input input(shared.input_barriers);
    for_each_tile([&](uint32_t row, uint32_t column) {
      for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
        input.wait_consumer();
        const uint32_t index = input.producer_stage();
        if (ptx::elect_one()) {
          SharedMemBarrier* full = input.producer_mbar(index);
          const int32_t k = k_block * Tile::kK;
          full->arrive_and_expect_bytes(Tile::kABytes + Tile::kBBytes);
          ptx::tma_load_2d(ptx::shared_address(shared.a[index]), &args.a, full->address(), k, row);
          ptx::tma_load_2d(ptx::shared_address(shared.b[index]), &args.b, full->address(), k,
                           column);
        }
        __syncwarp();
        input.producer_step();
      }
    });
  }

  /// MMA warp: owns the tensor memory; multiplies all K blocks of a tile into one accumulator.
  __device__ __forceinline__ void multiply() const {
    const Tmem tmem = Tmem::allocate(&shared.tmem_address);
    TmemReady::arrive();
    Input input(shared.input_barriers);
    Accumulators accumulators(shared.accumulator_barriers);
    for_each_tile([&](uint32_t, uint32_t) {
      accumulators.wait_consumer();
      ptx::tcgen05_fence_after_thread_sync();
      const uint32_t index = accumulators.producer_stage();
      multiply_tile(input, tmem.addr + index * Tile::kN);
      if (ptx::elect_one()) ptx::tcgen05_commit<1>(accumulators.producer_mbar(index)->address());
      accumulators.producer_step();
    });
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.complete_dealloc(tmem);
  }

  /// MMA warp: the K loop of one tile.
  __device__ __forceinline__ void multiply_tile(Input& input, uint32_t d_tmem) const {
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      input.wait_producer();
      const uint32_t index = input.consumer_stage();
      if (ptx::elect_one()) {
        multiply_k_block<Tile::kM, Tile::kN, 1>(d_tmem, shared.a[index], shared.b[index],
                                                /*accumulate=*/k_block > 0);
        ptx::tcgen05_commit<1>(input.consumer_mbar(index)->address());
      }
      __syncwarp();
      input.consumer_step();
    }
  }

  /// Epilogue warps: thread t takes row t of every tile.
  __device__ __forceinline__ void write() const {
    TmemReady::sync();
    const Tmem tmem = Tmem::from_shared(&shared.tmem_address);
    Accumulators accumulators(shared.accumulator_barriers);
    for_each_tile([&](uint32_t row, uint32_t column) {
      accumulators.wait_producer();
      ptx::tcgen05_fence_after_thread_sync();
      const uint32_t index = accumulators.consumer_stage();
      float values[Tile::kN];
      (TmemAddress{tmem.addr} + index * Tile::kN).load_32x32b(values);
      TmemAddress::wait_load(values);
      if constexpr (release == Release::kAfterTheLoad) hand_back(accumulators);
#pragma unroll
      for (float& value : values) value *= args.scale;
      write_output_row<Tile::kN>(args.d, row + threadIdx.x, column, values);
      if constexpr (release == Release::kAfterTheStore) hand_back(accumulators);
      accumulators.consumer_step();
    });
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.signal_complete();
  }

  /// Every epilogue thread: the current accumulator is empty.
  __device__ __forceinline__ void hand_back(const Accumulators& accumulators) const {
    ptx::tcgen05_fence_before_thread_sync();
    accumulators.consumer_mbar(accumulators.consumer_stage())->arrive();
  }
};

/// Entry: TileRoles::kThreads threads, any 1-D grid, sizeof(SharedStorage) bytes of dynamic shared
/// memory, whose base is 1024-byte aligned.
template <class Roles>
__global__ __launch_bounds__(TileRoles::kThreads, 1) void role_gemm_kernel(
    const __grid_constant__ Fp8GemmArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const Roles roles{args, *reinterpret_cast<typename Roles::SharedStorage*>(dynamic_shared)};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncthreads();
  run_role(roles);
}

/// The kernel of a class of roles, such as HandWrittenRoles.
template <class Roles>
constexpr Fp8GemmKernel role_kernel() {
  return {role_gemm_kernel<Roles>, TileRoles::kThreads, sizeof(typename Roles::SharedStorage)};
}

}  // namespace bw
