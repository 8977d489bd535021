/// \file
/// Lab: output by TMA. The same D = beta · C as lab c_ring; the epilogue puts its rows into a
/// buffer in shared memory, and one thread lets TMA store it.
///
/// New compared with load_order: the way out. A fence and a named barrier before the store, a bulk
/// group after it, and a wait before a buffer is filled again. With one buffer the threads wait for
/// every store; with two they fill one while TMA reads the other.

#include <vector>

#include "common/device/tma_store.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/05_blockwise_fp8_gemm/labs/c_problem.hpp"

namespace bw::lab {

constexpr int kStages = 2;
using Ring = EpiLoadPipeline<kStages>;
using EpilogueBarrier = WarpGroupBarrier<CRoles::kEpilogueThreads, /*Id=*/1>;

template <int num_buffers>
struct Shared {
  alignas(1024) uint8_t c_slices[kStages][CSlice::kBytes];
  alignas(1024) uint8_t d_slices[num_buffers][CSlice::kBytes];
  SharedMemBarrier barriers[Ring::kNumBarriers];
};

template <int num_buffers>
__device__ __forceinline__ void store_slices(Ring& ring, Shared<num_buffers>& shared,
                                             const CArguments& args) {
  // Bulk groups belong to a thread: the same one issues, commits and waits.
  const bool issues = threadIdx.x < ptx::kWarpThreads && ptx::elect_one();
  for (int slice = 0; slice < args.slices(); ++slice) {
    uint8_t* const buffer = shared.d_slices[slice % num_buffers];
    if (issues) ptx::bulk_wait_group_read<num_buffers - 1>();
    EpilogueBarrier::sync();  // the buffer's last store has been read out
    {
      auto stage = ring.consume();
#pragma unroll
      for (int chunk = 0; chunk < CSlice::kChunks; ++chunk) {
        *reinterpret_cast<uint4*>(buffer + CSlice::offset(threadIdx.x, chunk)) =
            scaled_chunk(shared.c_slices[stage.index()], chunk, args.beta);
      }
      ptx::fence_proxy_async_shared();  // C was read, TMA will overwrite it; D, TMA will read it
    }
    EpilogueBarrier::sync();  // every row is written and fenced
    if (issues) {
      ptx::tma_store_2d(&args.d, slice * CSlice::kColumns, args.first_row(),
                        ptx::shared_address(buffer));
      ptx::bulk_commit_group();
    }
    __syncwarp();
  }
  if (issues) ptx::bulk_wait_group<0>();  // a CTA outlives its stores
}

template <int num_buffers>
__global__ __launch_bounds__(CRoles::kThreads) void tma_store_kernel(
    const __grid_constant__ CArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<num_buffers>*>(dynamic_shared);
  Ring ring(shared.barriers);
  if (threadIdx.x == 0) {
    ring.init_barriers(/*producer_arv_count=*/1, CRoles::kEpilogueThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < CRoles::kEpilogueThreads) {
    store_slices(ring, shared, args);
  } else {
    load_slices(ring, shared.c_slices, args);
  }
}

template <int num_buffers>
ExitStatus run(const COptions& options) {
  return run_c_lab(options, tma_store_kernel<num_buffers>, sizeof(Shared<num_buffers>));
}

}  // namespace bw::lab

int main(int argc, char** argv) {
  const std::vector<const char*> buffer_names = {"1", "2", "3"};
  bw::lab::COptions options;
  int buffers = 1;
  bw::CommandLine command_line("D = beta * C, stored by TMA, verified exactly.");
  options.add_to(command_line);
  command_line.add("buffers", buffers, buffer_names, "slices of D that wait in shared memory");
  return bw::run_main(command_line, "lab_05_tma_store", argc, argv, [&] {
    constexpr bw::ExitStatus (*kRunners[])(const bw::lab::COptions&) = {
        bw::lab::run<1>, bw::lab::run<2>, bw::lab::run<3>};
    options.validate();
    bw::print_machine();
    return kRunners[buffers](options);
  });
}
