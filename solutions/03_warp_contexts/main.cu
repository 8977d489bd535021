/// \file
/// Runs the FP8 GEMM with one scale per tensor on random inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/host/dense_gemm.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/03_warp_contexts/fp8_gemm_kernel.cuh"
#include "solutions/03_warp_contexts/per_tensor_problem.hpp"

namespace {

const std::vector<std::string> kAccumulatorNames = {"1", "2", "4"};

struct ProgramOptions : bw::DenseGemmOptions {
  int64_t ctas = 4;
  int accumulators = 1;  ///< index into kAccumulatorNames
};

/// A kernel of a number of accumulators, and the shared memory it takes.
struct GemmKernel {
  void (*entry)(bw::Fp8GemmArguments);
  uint32_t shared_bytes;
};

template <int NumAccumulators>
constexpr GemmKernel kernel_of() {
  using Config = bw::Fp8GemmConfig<NumAccumulators>;
  return {bw::fp8_gemm_kernel<Config>, sizeof(typename Config::SharedStorage)};
}

using AnyConfig = bw::Fp8GemmConfig<1>;  // the tiles don't depend on the accumulators

/// Copies the problem to the device, poisons D, runs the kernel once on a grid of `ctas`.
bw::DenseGemmRun run_on_device(const bw::BlockwiseProblem& problem, const GemmKernel& kernel,
                               uint32_t ctas) {
  constexpr int kPoisonByte = 0xff;  // every bf16 a NaN
  const bw::WallTimer wall;
  const bw::DeviceBuffer<bw::Fp8E4m3> a(problem.a.values), b(problem.b.values);
  bw::DeviceBuffer<bw::Bf16> d(problem.m * problem.n);
  d.fill_bytes(kPoisonByte);

  bw::Fp8GemmArguments arguments{};
  arguments.a = bw::make_fp8_operand_map("A", a.data(), problem.m, problem.k, AnyConfig::kTileM);
  arguments.b = bw::make_fp8_operand_map("B", b.data(), problem.n, problem.k, AnyConfig::kTileN);
  arguments.d = {reinterpret_cast<uint16_t*>(d.data()), static_cast<uint32_t>(problem.m),
                 static_cast<uint32_t>(problem.n)};
  arguments.tiles_m = static_cast<uint32_t>(bw::ceil_div(problem.m, AnyConfig::kTileM));
  arguments.tiles_n = static_cast<uint32_t>(bw::ceil_div(problem.n, AnyConfig::kTileN));
  arguments.k_blocks = static_cast<uint32_t>(bw::ceil_div(problem.k, AnyConfig::kTileK));
  arguments.scale = problem.a.scales.front() * problem.b.scales.front();

  const float milliseconds =
      bw::run_timed(kernel.entry, {ctas, bw::TileRoles::kThreads, kernel.shared_bytes}, arguments);
  return {d.download(), milliseconds, wall.seconds()};
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  constexpr GemmKernel kKernels[] = {kernel_of<1>(), kernel_of<2>(), kernel_of<4>()};
  constexpr int64_t kMaxCtas = (int64_t{1} << 31) - 1;
  options.validate();
  bw::require(options.ctas >= 1 && options.ctas <= kMaxCtas, "--ctas ", options.ctas,
              ": a grid has 1 to 2^31 - 1 CTAs.");
  bw::require_blackwell();
  const int64_t tiles =
      bw::ceil_div(options.m, AnyConfig::kTileM) * bw::ceil_div(options.n, AnyConfig::kTileN);
  const int64_t ctas = std::min(options.ctas, tiles);
  bw::print_machine();
  options.print(std::to_string(tiles) + " tiles on " + std::to_string(ctas) +
                " CTAs, accumulators " + kAccumulatorNames[options.accumulators]);
  const bw::BlockwiseProblem problem = bw::make_per_tensor_problem(
      options.m, options.n, options.k, static_cast<uint64_t>(options.seed));
  return bw::report_run(
      problem, run_on_device(problem, kKernels[options.accumulators], static_cast<uint32_t>(ctas)));
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
  return bw::run_main(command_line, "03_warp_contexts", argc, argv,
                      [&] { return run_program(options); });
}
