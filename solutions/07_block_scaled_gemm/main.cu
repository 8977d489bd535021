/// \file
/// Runs the block-scaled GEMM on random or position-encoded inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/host/comparison.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/program.hpp"
#include "common/host/quantised_comparison.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_program.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_gemm.hpp"
#include "solutions/07_block_scaled_gemm/device_block_scaled_problem.hpp"

namespace {

struct ProgramOptions : bw::GemmOptions {
  int format = 0;         ///< index into block_format_names(), in the order of bw::BlockFormat
  int output = 0;         ///< index into output_names()
  bool describe = false;  ///< print what the configuration is made of, and end

  bw::BlockFormat block_format() const { return static_cast<bw::BlockFormat>(format); }
  static std::vector<const char*> output_names() { return {"bf16", "mxfp8", "nvfp4"}; }
  bool quantises() const { return output != 0; }
  bw::BlockFormat output_format() const {
    return output == 1 ? bw::BlockFormat::kMxfp8 : bw::BlockFormat::kNvfp4;
  }
};

/// The configuration that was named, or the one that fits the shape.
const bw::BlockScaledKernel& choose_kernel(const ProgramOptions& options) {
  if (!options.chooses_config()) {
    return bw::choose_block_scaled_kernel(options.block_format(), options.m, options.n,
                                          bw::device_attribute(cudaDevAttrMultiProcessorCount));
  }
  const bw::BlockScaledKernel& kernel = bw::find_block_scaled_kernel(options.config);
  const auto& formats = bw::block_format_names();
  bw::require(kernel.traits.format == options.block_format(), "The configuration ", kernel.name,
              " isn't for the format ", formats[options.format],
              "; choose another one, or give --format ",
              formats[static_cast<int>(kernel.traits.format)], ".");
  return kernel;
}

/// FNV-1a over the bits of D: tells whether two runs gave the very same numbers.
class BitsOfD {
 public:
  void add(uint32_t bits) {
    constexpr uint64_t kPrime = 0x100000001b3;
    hash_ = (hash_ ^ bits) * kPrime;
  }
  void print() const { std::printf("bits     %016llx\n", static_cast<unsigned long long>(hash_)); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

/// Compares a position-encoded C exactly, everything else with the float64 reference.
bw::ExitStatus verify(const bw::BlockScaledProblem& problem, const std::vector<bw::Bf16>& d) {
  if (problem.fill == bw::Fill::kPositionC) {
    const bw::BlockwiseProblem residual{problem.m,    problem.n, problem.k, problem.beta,
                                        problem.fill, {},        {},        problem.c};
    return bw::report(bw::compare_with_residual(d, residual), "D");
  }
  return bw::report(bw::compare_with_reference(d, problem.n, bw::block_scaled_reference(problem)),
                    "D");
}

/// Runs the kernel once and prints its time.
void run_timed(const bw::BlockScaledGemmArguments& arguments, const bw::BlockScaledKernel& kernel) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  const bw::WallTimer wall;
  const bw::PreparedBlockScaledGemm gemm(arguments, kernel);
  bw::EventTimer timer;
  timer.start(kDefaultStream);
  gemm.launch(kDefaultStream);
  const float milliseconds = timer.stop(kDefaultStream);
  bw::print_time(milliseconds, bw::gemm_flops(arguments.m, arguments.n, arguments.k),
                 wall.seconds());
}

/// Runs the kernel with a D of codes and scales, and compares both with the float64 reference. The
/// factor of NVFP4 is what a calibration would give: it follows from the reference.
bw::ExitStatus run_quantised(const ProgramOptions& options, const bw::BlockScaledKernel& kernel,
                             const bw::BlockScaledProblem& problem,
                             const bw::DeviceBlockScaledProblem& on_device) {
  const bw::BlockwiseReference reference = bw::block_scaled_reference(problem);
  const bw::BlockFormat format = options.output_format();
  const float factor =
      format == bw::BlockFormat::kNvfp4 ? bw::nvfp4_factor(bw::largest_magnitude(reference)) : 1.0f;
  const bw::DeviceQuantisedOutput out(format, problem.m, problem.n, factor);
  run_timed(on_device.arguments(out.output()), kernel);
  const bw::BlockScaledMatrix d = out.download();
  BitsOfD bits;
  for (const uint8_t code : d.values) bits.add(code);
  for (const uint8_t scale : d.scales) bits.add(scale);
  bits.print();
  std::printf("D        %zu bytes of codes, %zu of scales, factor %g\n", d.values.size(),
              out.scales().size(), factor);
  const bw::Comparison scales = bw::compare_quantised_scales(reference, d);
  if (!scales.verified()) return bw::report(scales, "the scales of D");
  return bw::report(bw::compare_quantised(reference, d), "D");
}

/// Copies the problem to the device, runs the kernel once, prints its time, verifies.
bw::ExitStatus run_and_verify(const ProgramOptions& options, const bw::BlockScaledKernel& kernel) {
  const bw::BlockScaledProblem problem = bw::make_block_scaled_problem(
      options.block_format(), options.m, options.n, options.k, static_cast<float>(options.beta),
      static_cast<uint64_t>(options.seed), static_cast<bw::Fill>(options.fill));
  const bw::DeviceBlockScaledProblem on_device(problem);
  if (options.quantises()) return run_quantised(options, kernel, problem, on_device);
  run_timed(on_device.arguments(), kernel);
  const std::vector<bw::Bf16> d = on_device.download_d();
  BitsOfD bits;
  for (const bw::Bf16 value : d) bits.add(value.bits);
  bits.print();
  return verify(problem, d);
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  if (options.list_configs) {
    bw::list_gemm_kernels(bw::block_scaled_kernels());
    return bw::kVerified;
  }
  bw::validate_block_scaled_k("--k", options.k, options.block_format());
  options.validate();
  if (options.quantises()) {
    bw::validate_block_scaled_k("With a quantised D, the K of the next GEMM is --n, which",
                                options.n, options.output_format());
  }
  const bw::BlockScaledKernel& kernel = choose_kernel(options);
  if (options.describe) {
    bw::print_description({kernel.name}, kernel.gemm.describe());
    return bw::kVerified;
  }
  bw::print_machine();
  std::printf("format   %s\n", bw::block_format_names()[options.format]);
  options.print(kernel.name);
  if (options.quantises()) {
    std::printf("output   %s\n", ProgramOptions::output_names()[options.output]);
  }
  return run_and_verify(options, kernel);
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "D = A * B^T + beta * C with operands whose scales the tensor core applies: MXFP8, MXFP4 or\n"
      "NVFP4, verified against a float64 reference.");
  options.add_to(command_line, "columns of A and B; a multiple of 32");
  command_line.add("format", options.format, bw::block_format_names(), "of A and B");
  command_line.add("output", options.output, ProgramOptions::output_names(),
                   "of D; mxfp8, nvfp4: codes and scales, as the next GEMM takes its A");
  command_line.add_flag("describe", options.describe,
                        "print what the configuration is made of, and end");
  return bw::run_main(command_line, "07_block_scaled_gemm", argc, argv,
                      [&] { return run_program(options); });
}
