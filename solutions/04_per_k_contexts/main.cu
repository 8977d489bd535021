/// \file
/// Runs the blockwise-scaled FP8 GEMM, one output tile per CTA, on random inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <cstdint>
#include <vector>

#include "common/host/dense_gemm.hpp"
#include "common/host/program.hpp"
#include "solutions/03_warp_contexts/describe_parts.hpp"
#include "solutions/04_per_k_contexts/blockwise_tile_kernel.cuh"
#include "solutions/04_per_k_contexts/blockwise_tile_run.hpp"

namespace {

const std::vector<const char*> kTileNNames = {"64", "96", "128"};
const std::vector<const char*> kAccumulatorNames = {"1", "4"};

struct ProgramOptions : bw::DenseGemmOptions {
  int tile_n = 2;         ///< index into kTileNNames
  int accumulators = 1;   ///< index into kAccumulatorNames
  bool describe = false;  ///< print what the configuration is made of, and end
};

template <int tile_n, int num_accumulators>
bw::KernelDescription describe() {
  using Config = bw::BlockwiseTileConfig<tile_n, num_accumulators>;
  using Storage = typename Config::SharedStorage;
  bw::KernelDescription description{
      .tile = {Config::kTileM, " x ", Config::kTileN, " of D, K blocks of ", Config::kTileK},
      .roles = bw::describe_tile_roles(),
      .launch_registers = bw::ptx::registers_at_launch(bw::TileRoles::kThreads),
      .rings = {{"input", Config::kNumInputStages, Config::kInputProducerArrivals,
                 Config::Payload::kStageBytes, Config::kInputConsumerArrivals}},
      .shared = {{"mbarriers", sizeof(Storage::input_barriers) +
                                   sizeof(Storage::accumulator_barriers) +
                                   sizeof(Storage::tmem_dealloc)},
                 {"address of tmem", sizeof(Storage::tmem_address)},
                 {"A, B, A-scales", sizeof(Storage::input)}},
      .storage_bytes = sizeof(Storage),
      .shared_bytes = bw::shared_bytes_for_all_columns(sizeof(Storage))};
  bw::describe_accumulators<Config::kOutput>(description);
  return description;
}

template <int tile_n, int num_accumulators>
bw::DenseGemmRun run_on_device(const bw::BlockwiseProblem& problem) {
  using Config = bw::BlockwiseTileConfig<tile_n, num_accumulators>;
  return bw::run_blockwise_tiles(
      problem,
      {.entry = bw::blockwise_tile_kernel<Config>,
       .threads = bw::TileRoles::kThreads,
       .shared_bytes = bw::shared_bytes_for_all_columns(sizeof(typename Config::SharedStorage)),
       .ctas = {.rows = Config::kTileM, .columns = tile_n, .b_rows = tile_n}});
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  constexpr bw::DenseGemmRun (*kRunners[][2])(const bw::BlockwiseProblem&) = {
      {run_on_device<64, 1>, run_on_device<64, 4>},
      {run_on_device<96, 1>, run_on_device<96, 4>},
      {run_on_device<128, 1>, run_on_device<128, 4>}};
  if (options.describe) {
    constexpr bw::KernelDescription (*kDescribe[][2])() = {{describe<64, 1>, describe<64, 4>},
                                                           {describe<96, 1>, describe<96, 4>},
                                                           {describe<128, 1>, describe<128, 4>}};
    bw::print_description({"tiles of 128 x ", kTileNNames[options.tile_n], ", accumulators ",
                           kAccumulatorNames[options.accumulators]},
                          kDescribe[options.tile_n][options.accumulators]());
    return bw::kVerified;
  }
  options.validate();
  bw::require_blackwell();
  bw::print_machine();
  options.print("tiles of 128 x ", kTileNNames[options.tile_n], ", accumulators ",
                kAccumulatorNames[options.accumulators]);
  const bw::BlockwiseProblem problem =
      bw::make_blockwise_problem(options.m, options.n, options.k, /*beta=*/0.0f,
                                 static_cast<uint64_t>(options.seed), bw::Fill::kNormal);
  return bw::report_run(problem, kRunners[options.tile_n][options.accumulators](problem));
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "D = A * B^T with blockwise-scaled FP8 operands (A 1x128, B 128x128) and bf16 D, one output\n"
      "tile per CTA, verified against float64.");
  options.add_to(command_line);
  command_line.add("tile-n", options.tile_n, kTileNNames,
                   "columns of a tile; those of 96 straddle two B-scales");
  command_line.add("accumulators", options.accumulators, kAccumulatorNames,
                   "accumulators in tensor memory; with 1, the MMAs wait for every release");
  command_line.add_flag("describe", options.describe, "print what the kernel is made of, and end");
  return bw::run_main(command_line, "04_per_k_contexts", argc, argv,
                      [&] { return run_program(options); });
}
