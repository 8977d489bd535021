/// \file
/// Lab: two loading warps, and their order. D = beta · C + (sums of A's rows): the sums replace
/// the MMAs, so that a tile has operands, which the result waits for, and a C, which is needed
/// at its end only.
///
/// New over c_ring: a second ring with a loading warp of its own, and LoadOrderBarrier, by which
/// C's warp lets the operands of a tile go first. With `--phases 1 --k 64` the load warp announces
/// the next tile before C's warp has seen the last announcement: one barrier can't hold both.

#include <vector>

#include "solutions/05_blockwise_fp8_gemm/labs/c_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/labs/c_slices.cuh"
#include "solutions/05_blockwise_fp8_gemm/load_order_barrier.cuh"

namespace bw::lab {

constexpr int kStages = 2, kCStages = 2;
constexpr int kSlicesPerTile = 4;
constexpr uint32_t kOrderThreads = CRoles::kThreads + ptx::kWarpThreads;
using Operands = ProducerConsumerPipeline<kStages>;
using CRing = EpiLoadPipeline<kCStages>;

template <int num_phases>
struct Shared {
  alignas(1024) uint8_t a_slices[kStages][CSlice::kBytes];
  alignas(1024) uint8_t c_slices[kCStages][CSlice::kBytes];
  SharedMemBarrier operand_barriers[Operands::kNumBarriers];
  SharedMemBarrier c_barriers[CRing::kNumBarriers];
  SharedMemBarrier order_barriers[num_phases];
};

/// Load warp: the K blocks of A's rows, once for every tile. Says when a tile's first are asked
/// for.
template <int num_phases>
__device__ __forceinline__ void load_operands(Shared<num_phases>& shared,
                                              const LoadOrderArguments& args) {
  Operands ring(shared.operand_barriers);
  LoadOrderBarrier<num_phases> order(shared.order_barriers);
  const uint32_t first_loads = min(args.k_blocks, uint32_t{kStages});
  for (uint32_t tile = 0; tile < args.tiles; ++tile) {
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto stage = ring.produce();
      if (ptx::elect_one()) {
        stage.mbar()->arrive_and_expect_bytes(CSlice::kBytes);
        ptx::tma_load_2d(ptx::shared_address(shared.a_slices[stage.index()]), &args.a,
                         stage.mbar()->address(), k_block * CSlice::kColumns, args.first_row());
        if (args.in_order && k_block + 1 == first_loads) order.arrive();
      }
      __syncwarp();
    }
    order.step();
  }
}

/// Epilogue-load warp: the slices of C of one tile after the other.
template <int num_phases>
__device__ __forceinline__ void load_c(Shared<num_phases>& shared, const LoadOrderArguments& args) {
  CRing ring(shared.c_barriers);
  LoadOrderBarrier<num_phases> order(shared.order_barriers);
  for (uint32_t slice = 0; slice < args.tiles * kSlicesPerTile; ++slice) {
    if (args.in_order && slice % kSlicesPerTile == 0) {
      order.wait();
      order.step();
    }
    auto stage = ring.produce();
    if (ptx::elect_one()) {
      stage.mbar()->arrive_and_expect_bytes(CSlice::kBytes);
      ptx::tma_load_2d(ptx::shared_address(shared.c_slices[stage.index()]), &args.c,
                       stage.mbar()->address(), slice * CSlice::kColumns, args.first_row());
    }
    __syncwarp();
  }
}

/// Epilogue: adds up the thread's row of A, K block by K block, then writes its row of the tile.
template <int num_phases>
__device__ __forceinline__ void write_tiles(Shared<num_phases>& shared,
                                            const LoadOrderArguments& args) {
  Operands operands(shared.operand_barriers);
  CRing ring(shared.c_barriers);
  for (uint32_t tile = 0; tile < args.tiles; ++tile) {
    float sum = 0;
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto stage = operands.consume();
      sum += row_sum(shared.a_slices[stage.index()]);
      ptx::fence_proxy_async_shared();
    }
    for (int slice = 0; slice < kSlicesPerTile; ++slice) {
      auto stage = ring.consume();
      write_row(args, shared.c_slices[stage.index()], tile * kSlicesPerTile + slice, sum);
      ptx::fence_proxy_async_shared();
    }
  }
}

template <int num_phases>
__global__ __launch_bounds__(kOrderThreads) void load_order_kernel(
    const __grid_constant__ LoadOrderArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<num_phases>*>(dynamic_shared);
  if (threadIdx.x == 0) {
    Operands(shared.operand_barriers).init_barriers(1, CRoles::kEpilogueThreads);
    CRing(shared.c_barriers).init_barriers(1, CRoles::kEpilogueThreads);
    LoadOrderBarrier<num_phases>(shared.order_barriers).init_barriers();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < CRoles::kEpilogueThreads) return write_tiles(shared, args);
  if (threadIdx.x < CRoles::kThreads) return load_c(shared, args);
  load_operands(shared, args);
}

template <int num_phases>
ExitStatus run(const LoadOrderOptions& options) {
  return run_load_order_lab(options, load_order_kernel<num_phases>, kOrderThreads,
                            sizeof(Shared<num_phases>), kSlicesPerTile * CSlice::kColumns);
}

}  // namespace bw::lab

int main(int argc, char** argv) {
  const std::vector<const char*> phases_names = {"1", "2", "3"};
  bw::lab::LoadOrderOptions options;
  int phases = 2;
  bw::CommandLine command_line("D = beta * C + sums of A's rows, by two loading warps, verified.");
  options.add_to(command_line);
  command_line.add("phases", phases, phases_names, "barriers of the load order");
  return bw::run_main(command_line, "lab_05_load_order", argc, argv, [&] {
    constexpr bw::ExitStatus (*kRunners[])(const bw::lab::LoadOrderOptions&) = {
        bw::lab::run<1>, bw::lab::run<2>, bw::lab::run<3>};
    options.validate();
    bw::print_machine();
    return kRunners[phases](options);
  });
}
