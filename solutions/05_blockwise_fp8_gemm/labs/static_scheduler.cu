/// \file
/// Lab: persistent CTAs. One CTA per multiprocessor takes pieces i, i + G, i + 2G, … of the raster;
/// its scheduler warp tells the others which, through a ring.
///
/// New compared with multicast: a role that moves no data, messages as the payload of a ring, and
/// the order of the raster: how many rows and columns of pieces a round works on.

#include "common/device/min_max.cuh"
#include "solutions/05_blockwise_fp8_gemm/labs/scheduled_pieces.cuh"
#include "solutions/05_blockwise_fp8_gemm/static_tile_scheduler.cuh"

int main(int argc, char** argv) {
  bw::lab::PieceOptions options;
  bw::CommandLine command_line("Pieces handed out by the static scheduler, each taken once.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_05_static_scheduler", argc, argv, [&] {
    using Scheduler = bw::StaticTileScheduler</*NumStages=*/2, bw::lab::kWorkerThreads,
                                              /*cluster_m=*/1>;
    options.validate();
    bw::require_blackwell();
    bw::print_machine();
    const auto multiprocessors =
        static_cast<uint32_t>(bw::device_attribute(cudaDevAttrMultiProcessorCount));
    const auto pieces = static_cast<uint32_t>(options.m * options.n);
    return bw::lab::run_pieces<Scheduler>(options, bw::min_of(pieces, multiprocessors));
  });
}
