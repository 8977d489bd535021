/// \file
/// Lab: the same roles with warp contexts. MmaWarpContext and EpilogueWarpContext take over the
/// life of the tensor memory and both sides of the accumulator ring; the load warp is untouched.
///
/// New compared with the overlap: no wait, fence or arrival of the second ring can be left out.

#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/labs/hand_written_roles.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/03_warp_contexts/output_role_views.cuh"

namespace bw {

using OverlappedRoles = HandWrittenRoles<4, 2, Release::kAfterTheLoad>;

/// New versions of two of the three roles.
struct ContextRoles : OverlappedRoles {
  static constexpr OutputPipelineConfig kOutput{kNumAccumulators, Tile::kN, /*cta_group=*/1};
  using MmaWarp = MmaWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;
  using EpilogueWarp =
      EpilogueWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;

  /// MMA warp.
  __device__ __forceinline__ void multiply() const {
    auto mma = MmaWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                               &shared.tmem_dealloc, mma_complete_mask<1>(0));
    Input input(shared.input_barriers);
    for_each_tile([&](uint32_t, uint32_t) {
      auto accumulator = mma.output_pipeline().producer().acquire();
      multiply_tile(input, accumulator.tmem().offset());
    });
  }

  /// Epilogue warps.
  __device__ __forceinline__ void write() const {
    EpilogueWarp::Sync::wait();
    auto epilogue = EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                         &shared.tmem_dealloc, mma_complete_mask<1>(0));
    for_each_tile([&](uint32_t row, uint32_t column) {
      auto accumulator = epilogue.output_pipeline().consumer().acquire();
      float values[Tile::kN];
      accumulator.tmem().tensor().load_32x32b(values);
      TmemAddress::wait_load(values);
      accumulator.release_accumulator();
#pragma unroll
      for (float& value : values) value *= args.scale;
      write_output_row<Tile::kN>(args.d, row + threadIdx.x, column, values);
    });
  }
};

}  // namespace bw

int main(int argc, char** argv) {
  bw::LabOptions options;
  bw::CommandLine command_line("The overlapped roles, with the accumulator ring in contexts.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_03_contexts", argc, argv, [&] {
    const bw::BlockwiseProblem problem =
        bw::begin_lab(options, "one CTA, 4 input stages, 2 accumulators");
    return bw::run_lab(problem, bw::role_kernel<bw::ContextRoles>(), /*ctas=*/1);
  });
}
