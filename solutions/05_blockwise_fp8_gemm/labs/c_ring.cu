/// \file
/// Lab: the ring of C alone. D = beta · C, without a GEMM: one warp loads slices of C ahead by TMA,
/// four warps take them from the ring and write D.
///
/// New: EpiLoadPipeline, chapter 1's ring with its roles fixed, and the fence of its consumer, who
/// reads by ordinary loads what TMA will overwrite.

#include <vector>

#include "solutions/05_blockwise_fp8_gemm/labs/c_problem.hpp"

namespace bw::lab {

template <int NumStages>
struct Shared {
  alignas(1024) uint8_t c_slices[NumStages][CSlice::kBytes];
  SharedMemBarrier barriers[EpiLoadPipeline<NumStages>::kNumBarriers];
};

/// Epilogue threads: each writes its row of D as it finds its row of C.
template <int NumStages>
__device__ __forceinline__ void write_rows(EpiLoadPipeline<NumStages>& ring,
                                           Shared<NumStages>& shared, const CArguments& args) {
  const uint32_t row = args.first_row() + threadIdx.x;
  for (int slice = 0; slice < args.slices(); ++slice) {
    auto stage = ring.consume();
#pragma unroll
    for (int chunk = 0; chunk < CSlice::kChunks; ++chunk) {
      const uint32_t column = slice * CSlice::kColumns + chunk * CSlice::kChunkColumns;
      const uint4 value = scaled_chunk(shared.c_slices[stage.index()], chunk, args.beta);
      if (row < args.rows && column < args.columns) {
        *reinterpret_cast<uint4*>(args.d_data + uint64_t{row} * args.columns + column) = value;
      }
    }
    ptx::fence_proxy_async_shared();  // C was read, TMA will overwrite it
  }
}

template <int NumStages>
__global__ __launch_bounds__(CRoles::kThreads) void c_ring_kernel(
    const __grid_constant__ CArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<NumStages>*>(dynamic_shared);
  EpiLoadPipeline<NumStages> ring(shared.barriers);
  if (threadIdx.x == 0) {
    ring.init_barriers(/*producer_arv_count=*/1, CRoles::kEpilogueThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < CRoles::kEpilogueThreads) {
    write_rows(ring, shared, args);
  } else {
    load_slices(ring, shared.c_slices, args);
  }
}

template <int NumStages>
ExitStatus run(const COptions& options) {
  return run_c_lab(options, c_ring_kernel<NumStages>, sizeof(Shared<NumStages>));
}

}  // namespace bw::lab

int main(int argc, char** argv) {
  const std::vector<const char*> stages_names = {"1", "2", "4"};
  bw::lab::COptions options;
  int stages = 1;
  bw::CommandLine command_line("D = beta * C through a ring of C slices, verified exactly.");
  options.add_to(command_line);
  command_line.add("stages", stages, stages_names, "slices of C that the ring holds");
  return bw::run_main(command_line, "lab_05_c_ring", argc, argv, [&] {
    constexpr bw::ExitStatus (*kRunners[])(const bw::lab::COptions&) = {
        bw::lab::run<1>, bw::lab::run<2>, bw::lab::run<4>};
    options.validate();
    bw::print_machine();
    return kRunners[stages](options);
  });
}
