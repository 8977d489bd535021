/// \file
/// Four kernels of which it is known what limits them: the tensor core, the loads, the epilogue, or
/// the barriers. Nothing is computed that anybody looks at; profiles are held against it.
///
///     bound_by tensor-core | loads | epilogue | barriers
///
/// And one that never ends: bound_by nothing.

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

#include "common/device/bulk_copy.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/03_warp_contexts/tile_roles.cuh"

namespace bw {

constexpr int kTile = 128;
constexpr uint32_t kTileBytes = kTile * kTile;  // e4m3
constexpr int kColumns = 16;                    ///< that the epilogue reads of an accumulator
constexpr int kTiles = 8;

/// How much each role has to do: stages of the ring; stages that make a tile; products of each
/// stage; additions of the epilogue, one after the other, for each value.
template <int num_stages, int num_k_blocks, int num_products, int num_epilogue_steps>
struct WorkOf {
  static constexpr int kStages = num_stages;
  static constexpr int kKBlocks = num_k_blocks;
  static constexpr int kProducts = num_products;
  static constexpr int kEpilogueSteps = num_epilogue_steps;
};

template <class Work>
struct PipelineRoles {
  using Input = ProducerConsumerPipeline<Work::kStages>;
  using Accumulators = ProducerConsumerPipeline<2>;
  using Tmem = TmemAllocation<1>;
  using TmemReady = WarpGroupBarrier<TileRoles::kMmaThreads + TileRoles::kEpilogueThreads, 1>;

  struct alignas(1024) SharedStorage {
    uint8_t operands[Work::kStages][2][kTileBytes];
    SharedMemBarrier input_barriers[Input::kNumBarriers];
    SharedMemBarrier accumulator_barriers[Accumulators::kNumBarriers];
    SharedMemBarrier tmem_dealloc;
    uint32_t tmem_address;
  };

  const uint8_t* source;
  float* sums;
  SharedStorage& shared;

  __device__ __forceinline__ void init_barriers() const {
    Input(shared.input_barriers).init_barriers(1, 1);
    Accumulators(shared.accumulator_barriers).init_barriers(1, TileRoles::kEpilogueThreads);
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  __device__ __forceinline__ void load() const {
    Input input(shared.input_barriers);
    for (int block = 0; block < kTiles * Work::kKBlocks; ++block) {
      auto stage = input.produce();
      if (ptx::elect_one()) {
        stage.mbar()->arrive_and_expect_bytes(2 * kTileBytes);
        for (int operand = 0; operand < 2; ++operand)
          ptx::bulk_load(ptx::shared_address(shared.operands[stage.index()][operand]), source,
                         kTileBytes, stage.mbar()->address());
      }
      __syncwarp();
    }
  }

  __device__ __forceinline__ void multiply() const {
    const Tmem tmem = Tmem::allocate(&shared.tmem_address);
    TmemReady::arrive();
    Input input(shared.input_barriers);
    Accumulators accumulators(shared.accumulator_barriers);
    for (int tile = 0; tile < kTiles; ++tile) {
      accumulators.wait_consumer();
      ptx::tcgen05_fence_after_thread_sync();
      const uint32_t index = accumulators.producer_stage();
      for (int block = 0; block < Work::kKBlocks; ++block) {
        auto stage = input.consume_explicit();
        const auto& operands = shared.operands[stage.index()];
        if (ptx::elect_one()) {
          for (int i = 0; i < Work::kProducts; ++i)
            multiply_k_block<kTile, kTile, 1>(tmem.addr + index * kTile, operands[0], operands[1],
                                              block + i > 0);
          ptx::tcgen05_commit<1>(stage.mbar()->address());
        }
        __syncwarp();
      }
      if (ptx::elect_one()) ptx::tcgen05_commit<1>(accumulators.producer_mbar(index)->address());
      accumulators.producer_step();
    }
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.complete_dealloc(tmem);
  }

  __device__ __forceinline__ void write() const {
    TmemReady::sync();
    const Tmem tmem = Tmem::from_shared(&shared.tmem_address);
    Accumulators accumulators(shared.accumulator_barriers);
    float sum = 0;
    for (int tile = 0; tile < kTiles; ++tile) {
      accumulators.wait_producer();
      ptx::tcgen05_fence_after_thread_sync();
      float values[kColumns];
      (TmemAddress{tmem.addr} + accumulators.consumer_stage() * kTile).load_32x32b(values);
      TmemAddress::wait_load(values);
      for (int step = 0; step < Work::kEpilogueSteps; ++step)
        for (const float value : values) sum = sum * 0.5f + value;
      ptx::tcgen05_fence_before_thread_sync();
      accumulators.consumer_mbar(accumulators.consumer_stage())->arrive();
      accumulators.consumer_step();
    }
    sums[threadIdx.x] = sum;
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.signal_complete();
  }
};

template <class Work>
__global__ __launch_bounds__(TileRoles::kThreads, 1) void pipeline_kernel(const uint8_t* source,
                                                                          float* sums) {
  using Roles = PipelineRoles<Work>;
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const Roles roles{source, sums,
                    *reinterpret_cast<typename Roles::SharedStorage*>(dynamic_shared)};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncthreads();
  run_role(roles);
}

/// Two warps that hand a token to each other and do nothing else.
__global__ void token_kernel() {
  constexpr int kHandOvers = 100;
  __shared__ SharedMemBarrier barriers[2];
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);
  if (threadIdx.x == 0) {
    for (SharedMemBarrier& barrier : barriers) barrier.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  for (int i = 0; i < kHandOvers; ++i) {
    if (i % 2 != static_cast<int>(warp))
      barriers[i % 2].wait(i / 2 % 2);
    else if (ptx::elect_one())
      barriers[i % 2].arrive();
    __syncwarp();
  }
}

/// Warp 1 waits for a token that never comes.
__global__ void stuck_kernel() {
  __shared__ SharedMemBarrier barrier;
  if (threadIdx.x == 0) {
    barrier.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x / ptx::kWarpThreads == 1) barrier.wait(0);
}

template <class Work>
void launch_pipeline(const uint8_t* source, float* sums) {
  constexpr int bytes = sizeof(typename PipelineRoles<Work>::SharedStorage);
  cudaFuncSetAttribute(pipeline_kernel<Work>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  pipeline_kernel<Work><<<1, TileRoles::kThreads, bytes>>>(source, sums);
}

}  // namespace bw

int main(int argc, char** argv) {
  using bw::WorkOf;
  const char* const wanted = argc == 2 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(wanted, name) == 0; };
  uint8_t* source = nullptr;
  float* sums = nullptr;
  cudaMalloc(&source, bw::kTileBytes);
  cudaMemset(source, 0, bw::kTileBytes);
  cudaMalloc(&sums, sizeof(float) * bw::TileRoles::kThreads);
  if (is("tensor-core")) {
    bw::launch_pipeline<WorkOf<4, 4, 6, 1>>(source, sums);
  } else if (is("loads")) {
    bw::launch_pipeline<WorkOf<1, 4, 1, 1>>(source, sums);
  } else if (is("epilogue")) {
    bw::launch_pipeline<WorkOf<4, 1, 1, 80>>(source, sums);
  } else if (is("barriers")) {
    bw::token_kernel<<<1, 2 * bw::ptx::kWarpThreads>>>();
  } else if (is("nothing")) {
    bw::stuck_kernel<<<1, 2 * bw::ptx::kWarpThreads>>>();
  } else {
    std::fprintf(stderr, "usage: bound_by tensor-core | loads | epilogue | barriers | nothing\n");
    return 2;
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
