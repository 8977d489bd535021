/// \file
/// Runs the blockwise-scaled FP8 GEMM on random or position-encoded inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/program.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace {

const std::string kAutomatic = "auto";

struct ProgramOptions {
  int64_t m = 512;
  int64_t n = 512;
  int64_t k = 1024;
  double beta = 0.5;
  int64_t seed = 1;
  int fill = 0;    ///< index into kFillNames, in the order of bw::Fill
  int output = 0;  ///< index into kOutputNames, in the order of bw::OutputType
  std::string config = kAutomatic;
  bool list_configs = false;

  bw::OutputType output_type() const { return static_cast<bw::OutputType>(output); }
};
const std::vector<std::string> kFillNames = {"normal", "position-c"};
const std::vector<std::string> kOutputNames = {"bf16", "fp32"};

/// What one run on the device gives.
template <class Output>
struct Run {
  std::vector<Output> d;
  float device_milliseconds;
  double wall_seconds;
};

/// Copies the problem to the device, poisons D, runs the kernel once.
template <class Output>
Run<Output> run_on_device(const bw::BlockwiseProblem& problem, const bw::GemmKernel& kernel) {
  const bw::DeviceProblem on_device(problem, kernel.traits.output);
  constexpr cudaStream_t kDefaultStream = nullptr;
  const bw::WallTimer wall;
  bw::EventTimer timer;
  timer.start(kDefaultStream);
  bw::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
  const float milliseconds = timer.stop(kDefaultStream);
  const double wall_seconds = wall.seconds();
  return Run<Output>{on_device.download_d<Output>(), milliseconds, wall_seconds};
}

/// Compares a position-encoded C exactly, everything else by the contract's criterion.
template <class Output>
bw::ExitStatus verify(const bw::BlockwiseProblem& problem, const Run<Output>& run) {
  if (problem.fill == bw::Fill::kPositionC) {
    return bw::report(bw::compare_with_residual(run.d, problem), "D");
  }
  return bw::report(bw::compare_with_reference(run.d, problem.n, bw::blockwise_reference(problem)),
                    "D");
}

/// Refuses, before anything is allocated, what the kernel would refuse and what won't fit.
void validate(const ProgramOptions& options) {
  constexpr size_t kBytesPerD = 2 * (sizeof(bw::Bf16) + sizeof(float));  // C and D, twice
  bw::validate_dense_gemm(options.m, options.n, options.k, kBytesPerD);
  bw::require(std::isfinite(static_cast<float>(options.beta)), "--beta ", options.beta,
              ": the kernel multiplies in fp32, whose largest number is 3.4e38.");
}

/// The configuration that was named, or the one that fits the shape.
const bw::GemmKernel& choose_kernel(const ProgramOptions& options) {
  if (options.config == kAutomatic) {
    return bw::choose_gemm_kernel(options.m, options.n, options.output_type(),
                                  bw::device_attribute(cudaDevAttrMultiProcessorCount));
  }
  const bw::GemmKernel& kernel = bw::find_gemm_kernel(options.config);
  bw::require(kernel.traits.output == options.output_type(), "The configuration ", kernel.name,
              " doesn't write ", kOutputNames[options.output],
              "; choose another one, or give --output ", kOutputNames[1 - options.output], ".");
  return kernel;
}

void list_configurations() {
  for (const bw::GemmKernel& kernel : bw::gemm_kernels()) std::printf("%s\n", kernel.name.c_str());
}

template <class Output>
bw::ExitStatus run_and_verify(const bw::BlockwiseProblem& problem, const bw::GemmKernel& kernel) {
  const Run<Output> run = run_on_device<Output>(problem, kernel);
  bw::print_time(run.device_milliseconds,
                 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                     static_cast<double>(problem.k),
                 run.wall_seconds);
  return verify(problem, run);
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  if (options.list_configs) {
    list_configurations();
    return bw::kVerified;
  }
  validate(options);
  const bw::GemmKernel& kernel = choose_kernel(options);
  bw::print_machine();
  std::printf("config   %s\n", kernel.name.c_str());
  std::printf("shape    m %lld, n %lld, k %lld, beta %g, seed %lld, fill %s\n",
              static_cast<long long>(options.m), static_cast<long long>(options.n),
              static_cast<long long>(options.k), options.beta, static_cast<long long>(options.seed),
              kFillNames[options.fill].c_str());
  const bw::BlockwiseProblem problem = bw::make_blockwise_problem(
      options.m, options.n, options.k, static_cast<float>(options.beta),
      static_cast<uint64_t>(options.seed), static_cast<bw::Fill>(options.fill));
  return options.output_type() == bw::OutputType::kBf16 ? run_and_verify<bw::Bf16>(problem, kernel)
                                                        : run_and_verify<float>(problem, kernel);
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "D = A * B^T + beta * C with blockwise-scaled FP8 operands (A 1x128, B 128x128),\n"
      "verified against a float64 reference.");
  command_line.add("m", options.m, "rows of A, C and D");
  command_line.add("n", options.n, "rows of B, columns of C and D; a multiple of 8");
  command_line.add("k", options.k, "columns of A and B; a multiple of 16");
  command_line.add("beta", options.beta, "factor of the residual C; 0: no C");
  command_line.add("seed", options.seed, "seed of the random inputs");
  command_line.add("fill", options.fill, kFillNames,
                   "normal random inputs, or A = 0 and a C that encodes its positions");
  command_line.add("output", options.output, kOutputNames, "element type of D");
  command_line.add("config", options.config,
                   "name of the configuration; auto: one that fits the shape");
  command_line.add_flag("list-configs", options.list_configs, "print the names and end");
  return bw::run_main(command_line, "05_blockwise_fp8_gemm", argc, argv,
                      [&] { return run_program(options); });
}
