/// \file
/// Runs the blockwise-scaled FP8 GEMM, one output tile per CTA, on random inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <cstdint>
#include <string>
#include <vector>

#include "common/host/dense_gemm.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/04_per_k_contexts/blockwise_tile_kernel.cuh"

namespace {

const std::vector<std::string> kTileNNames = {"64", "96", "128"};

struct ProgramOptions : bw::DenseGemmOptions {
  int tile_n = 2;  ///< index into kTileNNames
};

/// Copies the problem to the device, poisons D, runs the kernel once.
template <int tile_n>
bw::DenseGemmRun run_on_device(const bw::BlockwiseProblem& problem) {
  using Config = bw::BlockwiseTileConfig<tile_n>;
  constexpr int kPoisonByte = 0xff;  // every bf16 a NaN
  const bw::WallTimer wall;
  const bw::DeviceBuffer<bw::Fp8E4m3> a(problem.a.values), b(problem.b.values);
  const bw::DeviceBuffer<float> a_scales(problem.a.scales), b_scales(problem.b.scales);
  bw::DeviceBuffer<bw::Bf16> d(problem.m * problem.n);
  d.fill_bytes(kPoisonByte);

  bw::BlockwiseTileArguments arguments{};
  arguments.a = bw::make_fp8_operand_map("A", a.data(), problem.m, problem.k, Config::kTileM);
  arguments.b = bw::make_fp8_operand_map("B", b.data(), problem.n, problem.k, Config::kTileN);
  arguments.k_blocks = static_cast<uint32_t>(bw::ceil_div(problem.k, Config::kTileK));
  arguments.a_scales = bw::make_tensor_map({.name = "A-scales",
                                            .data = a_scales.data(),
                                            .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                            .element_bytes = sizeof(float),
                                            .inner = static_cast<uint64_t>(problem.m),
                                            .outer = arguments.k_blocks,
                                            .stride_bytes = problem.a.scales_stride * sizeof(float),
                                            .box_inner = Config::kTileM,
                                            .box_outer = 1,
                                            .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.b_scales = {b_scales.data(), problem.b.scales_stride,
                        static_cast<uint32_t>(bw::ceil_div(problem.n, bw::kScaleBlock))};
  arguments.d = {reinterpret_cast<uint16_t*>(d.data()), static_cast<uint32_t>(problem.m),
                 static_cast<uint32_t>(problem.n)};
  arguments.tiles_m = static_cast<uint32_t>(bw::ceil_div(problem.m, Config::kTileM));
  const auto tiles_n = static_cast<uint32_t>(bw::ceil_div(problem.n, Config::kTileN));

  const float milliseconds = bw::run_timed(bw::blockwise_tile_kernel<Config>,
                                           {.ctas = arguments.tiles_m * tiles_n,
                                            .threads = bw::TileRoles::kThreads,
                                            .shared_bytes = sizeof(typename Config::SharedStorage)},
                                           arguments);
  return {d.download(), milliseconds, wall.seconds()};
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  constexpr bw::DenseGemmRun (*kRunners[])(const bw::BlockwiseProblem&) = {
      run_on_device<64>, run_on_device<96>, run_on_device<128>};
  options.validate();
  bw::require_blackwell();
  bw::print_machine();
  options.print("tiles of 128 x " + kTileNNames[options.tile_n]);
  const bw::BlockwiseProblem problem =
      bw::make_blockwise_problem(options.m, options.n, options.k, /*beta=*/0.0f,
                                 static_cast<uint64_t>(options.seed), bw::Fill::kNormal);
  return bw::report_run(problem, kRunners[options.tile_n](problem));
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
  return bw::run_main(command_line, "04_per_k_contexts", argc, argv,
                      [&] { return run_program(options); });
}
