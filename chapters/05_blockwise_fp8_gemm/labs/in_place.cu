/// \file
/// Lab: one set of slots for C and D. The same D = beta · C as lab tma_store; but D replaces C in
/// its stage of the ring, and TMA stores it from there.
///
/// New compared with tma_store: no buffers for D, and a stage is empty only once TMA has read D.
/// So one thread gives it back, after the wait for the store, and not every thread after its loads.

#include "common/device/tma_store.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/05_blockwise_fp8_gemm/labs/c_problem.hpp"

namespace bw::lab {

constexpr int kStages = 3;
using Ring = EpiLoadPipeline<kStages>;
using EpilogueBarrier = WarpGroupBarrier<CRoles::kEpilogueThreads, /*Id=*/1>;

struct Shared {
  alignas(1024) uint8_t slices[kStages][CSlice::kBytes];
  SharedMemBarrier barriers[Ring::kNumBarriers];
};

/// An epilogue thread: its row of a slice of C becomes that of D.
__device__ __forceinline__ void scale_row(uint8_t* slice, float beta) {
#pragma unroll
  for (int chunk = 0; chunk < CSlice::kChunks; ++chunk) {
    const uint4 d = scaled_chunk(slice, chunk, beta);
    *reinterpret_cast<uint4*>(slice + CSlice::offset(threadIdx.x, chunk)) = d;
  }
}

/// One thread: lets TMA store slice number `slice` of D, as a bulk group of its own.
__device__ __forceinline__ void store_slice(const CArguments& args, int slice,
                                            const uint8_t* d_slice) {
  ptx::tma_store_2d(&args.d, slice * CSlice::kColumns, args.first_row(),
                    ptx::shared_address(d_slice));
  ptx::bulk_commit_group();
}

/// Epilogue threads; the first one issues the stores.
__device__ __forceinline__ void scale_slices(Ring& ring, Shared& shared, const CArguments& args) {
  const bool issues = threadIdx.x == 0;
  // >>> exercise 5.10 "C and D in the same slots"
  // For each slice: scale_row() it in its stage, let `issues` store_slice() it, and
  // give the stage back when TMA has read it. Every thread has to step.
  BW_EXERCISE_NOT_DONE("5.10", "C and D in the same slots");
  // <<< exercise 5.10
  if (issues) ptx::bulk_wait_group<0>();  // a CTA outlives its stores
}

__global__ __launch_bounds__(CRoles::kThreads) void in_place_kernel(
    const __grid_constant__ CArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared*>(dynamic_shared);
  Ring ring(shared.barriers);
  if (threadIdx.x == 0) {
    ring.init_barriers(/*producer_arv_count=*/1, /*consumer_arv_count=*/1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < CRoles::kEpilogueThreads) {
    scale_slices(ring, shared, args);
  } else {
    load_slices(ring, shared.slices, args);
  }
}

}  // namespace bw::lab

int main(int argc, char** argv) {
  bw::lab::COptions options;
  bw::CommandLine command_line("D = beta * C in the slots of C, stored by TMA, verified exactly.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_05_in_place", argc, argv, [&] {
    options.validate();
    bw::print_machine();
    return bw::lab::run_c_lab(options, bw::lab::in_place_kernel, sizeof(bw::lab::Shared));
  });
}
