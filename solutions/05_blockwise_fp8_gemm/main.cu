/// \file
/// Runs the blockwise-scaled FP8 GEMM on random or position-encoded inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <string>
#include <vector>

#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/program.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_program.hpp"

namespace {

struct ProgramOptions : bw::GemmOptions {
  int output = 0;         ///< index into kOutputNames, in the order of bw::OutputType
  bool describe = false;  ///< print what the configuration is made of, and end

  bw::OutputType output_type() const { return static_cast<bw::OutputType>(output); }
};
const std::vector<std::string> kOutputNames = {"bf16", "fp32"};

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

/// Copies the problem to the device, poisons D, runs the kernel once, prints its time, verifies.
template <class Output>
bw::ExitStatus run_and_verify(const bw::BlockwiseProblem& problem, const bw::GemmKernel& kernel) {
  const bw::DeviceProblem on_device(problem, kernel.traits.output);
  constexpr cudaStream_t kDefaultStream = nullptr;
  const bw::WallTimer wall;
  const bw::PreparedGemm gemm(on_device.arguments(), kernel);
  bw::EventTimer timer;
  timer.start(kDefaultStream);
  gemm.launch(kDefaultStream);
  const float milliseconds = timer.stop(kDefaultStream);
  bw::print_time(milliseconds, bw::gemm_flops(problem.m, problem.n, problem.k), wall.seconds());
  return bw::verify_gemm(problem, on_device.download_d<Output>());
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  if (options.list_configs) {
    bw::list_gemm_kernels(bw::gemm_kernels());
    return bw::kVerified;
  }
  options.validate();
  const bw::GemmKernel& kernel = choose_kernel(options);
  if (options.describe) {
    bw::print_description(kernel.name, kernel.describe());
    return bw::kVerified;
  }
  bw::print_machine();
  options.print(kernel.name);
  const bw::BlockwiseProblem problem = options.make_problem();
  return options.output_type() == bw::OutputType::kBf16 ? run_and_verify<bw::Bf16>(problem, kernel)
                                                        : run_and_verify<float>(problem, kernel);
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
  return bw::run_main(command_line, "05_blockwise_fp8_gemm", argc, argv,
                      [&] { return run_program(options); });
}
