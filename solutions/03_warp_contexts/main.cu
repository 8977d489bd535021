/// \file
/// Runs the FP8 GEMM with one scale per tensor on random inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <cstdint>
#include <vector>

#include "common/device/min_max.cuh"
#include "common/host/dense_gemm.hpp"
#include "common/host/program.hpp"
#include "solutions/03_warp_contexts/describe_parts.hpp"
#include "solutions/03_warp_contexts/fp8_gemm_kernel.cuh"
#include "solutions/03_warp_contexts/fp8_gemm_run.hpp"
#include "solutions/03_warp_contexts/per_tensor_problem.hpp"

namespace {

const std::vector<const char*> kAccumulatorNames = {"1", "2", "4"};

struct ProgramOptions : bw::DenseGemmOptions {
  int64_t ctas = 4;
  int accumulators = 1;   ///< index into kAccumulatorNames
  bool describe = false;  ///< print what the configuration is made of, and end
};

template <int num_accumulators>
bw::KernelDescription describe() {
  using Config = bw::Fp8GemmConfig<num_accumulators>;
  using Storage = typename Config::SharedStorage;
  using Tile = typename Config::Tile;
  bw::KernelDescription description{
      .tile = {Tile::kM, " x ", Tile::kN, " of D, K blocks of ", Tile::kK},
      .roles = bw::describe_tile_roles(),
      .launch_registers = bw::ptx::registers_at_launch(bw::TileRoles::kThreads),
      .rings = {{"input", Config::kNumInputStages, /*full_arrivals=*/1,
                 Tile::kABytes + Tile::kBBytes, /*empty_arrivals=*/1}},
      .shared = {{"mbarriers", sizeof(Storage::input_barriers) +
                                   sizeof(Storage::accumulator_barriers) +
                                   sizeof(Storage::tmem_dealloc)},
                 {"address of tmem", sizeof(Storage::tmem_address)},
                 {"A", sizeof(Storage::a)},
                 {"B", sizeof(Storage::b)}},
      .storage_bytes = sizeof(Storage),
      .shared_bytes = bw::shared_bytes_for_all_columns(sizeof(Storage))};
  bw::describe_accumulators<Config::kOutput>(description);
  return description;
}

template <int num_accumulators>
constexpr bw::Fp8GemmKernel kernel_of() {
  using Config = bw::Fp8GemmConfig<num_accumulators>;
  return {bw::fp8_gemm_kernel<Config>, bw::TileRoles::kThreads,
          bw::shared_bytes_for_all_columns(sizeof(typename Config::SharedStorage))};
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  constexpr bw::Fp8GemmKernel kKernels[] = {kernel_of<1>(), kernel_of<2>(), kernel_of<4>()};
  constexpr int64_t kMaxCtas = (int64_t{1} << 31) - 1;
  if (options.describe) {
    constexpr bw::KernelDescription (*kDescribe[])() = {describe<1>, describe<2>, describe<4>};
    bw::print_description({"accumulators ", kAccumulatorNames[options.accumulators]},
                          kDescribe[options.accumulators]());
    return bw::kVerified;
  }
  options.validate();
  bw::require(options.ctas >= 1 && options.ctas <= kMaxCtas, "--ctas ", options.ctas,
              ": a grid has 1 to 2^31 - 1 CTAs.");
  bw::require_blackwell();
  const int64_t tiles = bw::fp8_gemm_tiles(options.m, options.n);
  const int64_t ctas = bw::min_of(options.ctas, tiles);
  bw::print_machine();
  options.print(tiles, " tiles on ", ctas, " CTAs, accumulators ",
                kAccumulatorNames[options.accumulators]);
  const bw::BlockwiseProblem problem = bw::make_per_tensor_problem(
      options.m, options.n, options.k, static_cast<uint64_t>(options.seed));
  return bw::report_run(problem, bw::run_fp8_gemm(problem, kKernels[options.accumulators],
                                                  static_cast<uint32_t>(ctas)));
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "D = scale * A * B^T with FP8 operands, one scale per tensor, and bf16 D, verified against\n"
      "float64.");
  options.add_to(command_line);
  command_line.add("ctas", options.ctas,
                   "CTAs that share the tiles of 128 x 128; at most one each");
  command_line.add("accumulators", options.accumulators, kAccumulatorNames,
                   "accumulators in tensor memory; from 2 on, the epilogue overlaps the MMAs");
  command_line.add_flag("describe", options.describe, "print what the kernel is made of, and end");
  return bw::run_main(command_line, "03_warp_contexts", argc, argv,
                      [&] { return run_program(options); });
}
