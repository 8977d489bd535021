/// \file
/// Lab: the K loop. One thread loads a K block, waits, multiplies, waits, and goes on to the next
/// block; then all threads read the accumulator. No thread has a role yet, and nothing overlaps.
///
/// New compared with chapter 2: several MMAs add up in one accumulator, and the same two mbarriers
/// are used once for every K block, so that their parity matters again.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/03_warp_contexts/k_block_mma.cuh"
#include "solutions/03_warp_contexts/labs/lab_run.hpp"
#include "solutions/03_warp_contexts/output_row_writer.cuh"

namespace bw {

using Tile = Fp8GemmTile;

constexpr uint32_t kThreads = Tile::kM;  ///< a row of the tile each, in the end

struct alignas(1024) KLoopStorage {
  uint8_t a[Tile::kABytes];
  uint8_t b[Tile::kBBytes];
  SharedMemBarrier loaded;      ///< one arrival with the bytes of A and B
  SharedMemBarrier multiplied;  ///< one commit
  uint32_t tmem_address;
};

/// One thread: the K loop of the tile whose first row and column these are. `blocks_before`: K
/// blocks of earlier tiles, since each has completed one phase of either barrier.
__device__ void multiply_tile(const Fp8GemmArguments& args, KLoopStorage& shared, uint32_t d_tmem,
                              uint32_t row, uint32_t column, uint32_t blocks_before) {
  for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
    const uint32_t parity = (blocks_before + k_block) & 1;
    const int32_t k = k_block * Tile::kK;
    shared.loaded.arrive_and_expect_bytes(Tile::kABytes + Tile::kBBytes);
    ptx::tma_load_2d(ptx::shared_address(shared.a), &args.a, shared.loaded.address(), k, row);
    ptx::tma_load_2d(ptx::shared_address(shared.b), &args.b, shared.loaded.address(), k, column);
    shared.loaded.wait(parity);
    multiply_k_block<Tile::kM, Tile::kN, 1>(d_tmem, shared.a, shared.b,
                                            /*accumulate=*/k_block > 0);
    ptx::tcgen05_commit<1>(shared.multiplied.address());
    shared.multiplied.wait(parity);  // the tensor core has read A and B: they may be overwritten
  }
}

/// One CTA of kThreads threads computes all of D, tile by tile.
__global__ __launch_bounds__(kThreads) void k_loop_kernel(
    const __grid_constant__ Fp8GemmArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<KLoopStorage*>(dynamic_shared);
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) {
    if (ptx::elect_one()) {
      shared.loaded.init(1);
      shared.multiplied.init(1);
      ptx::fence_mbarrier_init();
    }
    __syncwarp();
    TmemAllocation<1>::allocate(&shared.tmem_address);
  }
  __syncthreads();
  const auto tmem = TmemAllocation<1>::from_shared(&shared.tmem_address);

  for (uint32_t tile = 0; tile < args.tiles_m * args.tiles_n; ++tile) {
    const uint32_t row = tile % args.tiles_m * Tile::kM, column = tile / args.tiles_m * Tile::kN;
    if (first_warp) {
      if (ptx::elect_one()) {
        multiply_tile(args, shared, tmem.addr, row, column, tile * args.k_blocks);
      }
      __syncwarp();
    }
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();  // one thread saw the last commit; now all may read
    ptx::tcgen05_fence_after_thread_sync();
    float values[Tile::kN];
    TmemAddress{tmem.addr}.load_32x32b(values);
    TmemAddress::wait_load(values);
#pragma unroll
    for (float& value : values) value *= args.scale;
    write_output_row<Tile::kN>(args.d, row + threadIdx.x, column, values);
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();  // all have read; now the next tile may overwrite
    ptx::tcgen05_fence_after_thread_sync();
  }
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

}  // namespace bw

int main(int argc, char** argv) {
  bw::LabOptions options;
  bw::CommandLine command_line("The K loop without roles: one thread loads, multiplies and waits.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_03_k_loop", argc, argv, [&] {
    const bw::BlockwiseProblem problem = bw::begin_lab(options, "one CTA, no roles");
    return bw::run_lab(problem, {bw::k_loop_kernel, bw::kThreads, sizeof(bw::KLoopStorage)},
                       /*ctas=*/1);
  });
}
