/// \file
/// Runs the blockwise-scaled FP8 GEMM on random or position-encoded inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/program.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_program.hpp"
#include "solutions/05_blockwise_fp8_gemm/prepared_gemm.hpp"

namespace {

struct ProgramOptions : bw::GemmOptions {
  int output = 0;         ///< index into kOutputNames, in the order of bw::OutputType
  bool describe = false;  ///< print what the configuration is made of, and end
  bool tunes = false;     ///< try all configurations and take the fastest
  int64_t launches = 1;   ///< one after the other, between the two events
  int serial = 0;         ///< 1: a launch begins after the end of the one before it

  bw::OutputType output_type() const { return static_cast<bw::OutputType>(output); }
};
const std::vector<const char*> kOutputNames = {"bf16", "fp32"};

constexpr cudaStream_t kDefaultStream = nullptr;

/// Milliseconds of a launch: in the simulator all take the same time, on a GPU the median of some.
float time_launch(const bw::PreparedGemm& gemm) {
  constexpr size_t kLaunches = 7;
  const size_t launches = bw::is_simulated() ? 1 : kLaunches;
  std::vector<float> milliseconds;
  bw::EventTimer timer;
  while (milliseconds.size() < launches) {
    timer.start(kDefaultStream);
    gemm.launch(kDefaultStream);
    milliseconds.push_back(timer.stop(kDefaultStream));
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + launches / 2, milliseconds.end());
  return milliseconds[launches / 2];
}

/// The fastest configuration for a problem. Prints each one's time as soon as it is known, so that
/// whoever interrupts the search keeps what has been found.
const bw::GemmKernel& find_fastest(const bw::DeviceProblem& problem, bw::OutputType output,
                                   double flops) {
  std::vector<const bw::GemmKernel*> kernels;
  const int multiprocessors = bw::device_attribute(cudaDevAttrMultiProcessorCount);
  for (const bw::GemmKernel& kernel : bw::gemm_kernels()) {
    const bool fits = kernel.traits.cluster_size() <= multiprocessors;
    if (fits && kernel.traits.output == output) kernels.push_back(&kernel);
  }
  const bw::GemmKernel* best = nullptr;
  float least = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const bw::GemmKernel& kernel = *kernels[i];
    std::printf("tune     %2zu of %zu  %-26s", i + 1, kernels.size(), kernel.name);
    std::fflush(stdout);
    const float milliseconds = time_launch(bw::PreparedGemm(problem.arguments(), kernel));
    std::printf(" %10.3f us, %8.2f TFLOP/s\n", milliseconds * 1e3, flops / milliseconds * 1e-9);
    if (best == nullptr || milliseconds < least) {
      best = &kernel;
      least = milliseconds;
    }
  }
  return *best;
}

/// The configuration that was named, or the one that fits the shape.
const bw::GemmKernel& choose_kernel(const ProgramOptions& options) {
  if (!options.chooses_config()) {
    return bw::choose_gemm_kernel(options.m, options.n, options.k, options.output_type(),
                                  bw::device_attribute(cudaDevAttrMultiProcessorCount));
  }
  const bw::GemmKernel& kernel = bw::find_gemm_kernel(options.config);
  bw::require(kernel.traits.output == options.output_type(), "The configuration ", kernel.name,
              " doesn't write ", kOutputNames[options.output],
              "; choose another one, or give --output ", kOutputNames[1 - options.output], ".");
  return kernel;
}

/// Copies the problem to the device, poisons D, runs the kernel (null: the fastest that is found)
/// as often as asked for, prints the time of a launch, verifies.
template <class Output>
bw::ExitStatus run_and_verify(const ProgramOptions& options, const bw::GemmKernel* chosen) {
  const bw::BlockwiseProblem problem = options.make_problem();
  const bw::DeviceProblem on_device(problem, options.output_type());
  const double flops = bw::gemm_flops(problem.m, problem.n, problem.k);
  const bw::GemmKernel& kernel =
      chosen != nullptr ? *chosen : find_fastest(on_device, options.output_type(), flops);
  if (chosen == nullptr) options.print(kernel.name);
  const bw::WallTimer wall;
  const bw::PreparedGemm gemm(on_device.arguments(), kernel);
  bw::EventTimer timer;
  timer.start(kDefaultStream);
  for (int64_t i = 0; i < options.launches; ++i) gemm.launch(kDefaultStream, options.serial == 0);
  const float milliseconds = timer.stop(kDefaultStream) / static_cast<float>(options.launches);
  bw::print_time(milliseconds, flops, wall.seconds());
  return bw::verify_gemm(problem, on_device.download_d<Output>());
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  if (options.list_configs) {
    bw::list_gemm_kernels(bw::gemm_kernels());
    return bw::kVerified;
  }
  options.validate();
  constexpr int64_t kMostLaunches = 10000;
  bw::require(options.launches >= 1 && options.launches <= kMostLaunches, "--launches is ",
              options.launches, "; give 1 to ", kMostLaunches, ".");
  bw::require(!options.tunes || !options.chooses_config(),
              "--tune tries all configurations: leave --config out.");
  bw::require(!options.tunes || !options.describe,
              "--describe runs nothing: leave --tune out, and name the configuration.");
  const bw::GemmKernel* const kernel = options.tunes ? nullptr : &choose_kernel(options);
  if (options.describe) {
    bw::print_description({kernel->name}, kernel->describe());
    return bw::kVerified;
  }
  bw::print_machine();
  if (kernel != nullptr) options.print(kernel->name);
  return options.output_type() == bw::OutputType::kBf16 ? run_and_verify<bw::Bf16>(options, kernel)
                                                        : run_and_verify<float>(options, kernel);
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "D = A * B^T + beta * C with blockwise-scaled FP8 operands (A 1x128, B 128x128),\n"
      "verified against a float64 reference.");
  options.add_to(command_line);
  command_line.add("output", options.output, kOutputNames, "element type of D");
  command_line.add_flag("describe", options.describe,
                        "print what the configuration is made of, and end");
  command_line.add_flag(
      "tune", options.tunes,
      "time every configuration, each on a line of its own, and take the fastest");
  command_line.add("launches", options.launches,
                   "run the kernel that often in a row; the time is that of a launch");
  command_line.add("launch", options.serial, {"dependent", "serial"},
                   "dependent: a launch may start before the one before it has ended");
  return bw::run_main(command_line, "05_blockwise_fp8_gemm", argc, argv,
                      [&] { return run_program(options); });
}
