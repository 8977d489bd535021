/// \file
/// Lab: cluster launch control. The grid has a CTA for every piece; a CTA that has finished its own
/// asks the hardware for one that hasn't started, and takes over its piece.
///
/// New compared with static_scheduler: a faster CTA takes more pieces. The answer is written to
/// shared memory asynchronously and completes its bytes on an mbarrier, as a copy does.

#include "solutions/05_blockwise_fp8_gemm/clc_tile_scheduler.cuh"
#include "solutions/05_blockwise_fp8_gemm/labs/scheduled_pieces.cuh"
#include "solutions/05_blockwise_fp8_gemm/launch_control_grid.hpp"

int main(int argc, char** argv) {
  bw::lab::PieceOptions options;
  options.uneven = 1;
  bw::CommandLine command_line("Pieces handed out by cluster launch control, each taken once.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_05_launch_control", argc, argv, [&] {
    using Scheduler = bw::ClcTileScheduler</*NumStages=*/2, bw::lab::kWorkerThreads,
                                           /*cluster_m=*/1, /*cluster_size=*/1>;
    options.validate();
    bw::require_blackwell();
    bw::print_machine();
    const auto grid = bw::LaunchControlGrid::of(
        {static_cast<uint32_t>(options.m), static_cast<uint32_t>(options.n)});
    return bw::lab::run_pieces<Scheduler>(options, dim3(grid.x, grid.y, grid.z));
  });
}
