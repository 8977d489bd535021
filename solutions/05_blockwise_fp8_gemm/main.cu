/// \file
/// Runs the blockwise-scaled FP8 GEMM on random or position-encoded inputs and verifies it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/command_line.hpp"
#include "common/host/comparison.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/host_memory.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace {

enum ExitStatus { kVerified = 0, kWrongResult = 1, kFailure = 2 };

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

void print_machine() {
  cudaDeviceProp properties{};
  int device = 0;
  bw::check_cuda(cudaGetDevice(&device), "find the current device");
  bw::check_cuda(cudaGetDeviceProperties(&properties, device), "read the device's properties");
  std::printf("machine  %s (compute capability %d.%d, %d SMs)\n", properties.name, properties.major,
              properties.minor, properties.multiProcessorCount);
}

/// Copies the problem to the device, poisons D, runs the kernel once.
template <class Output>
Run<Output> run_on_device(const bw::BlockwiseProblem& problem, const bw::GemmKernel& kernel) {
  const bw::DeviceProblem on_device(problem, kernel.traits.output);
  constexpr cudaStream_t kDefaultStream = nullptr;
  bw::EventTimer timer;
  const auto begin = std::chrono::steady_clock::now();
  timer.start(kDefaultStream);
  bw::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
  const float milliseconds = timer.stop(kDefaultStream);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return Run<Output>{on_device.download_d<Output>(), milliseconds, wall.count()};
}

template <class Output>
void print_time(const bw::BlockwiseProblem& problem, const Run<Output>& run) {
  const double seconds = run.device_milliseconds * 1e-3;
  const double clock_hz = bw::device_attribute(cudaDevAttrClockRate) * 1e3;
  const double flops = 2.0 * problem.m * problem.n * problem.k;
  std::printf(
      "time     %.3f us on the device (%.0f cycles at %.2f GHz, %.1f TFLOP/s), wall %.3f s\n",
      seconds * 1e6, seconds * clock_hz, clock_hz * 1e-9,
      seconds > 0 ? flops / seconds * 1e-12 : 0.0, run.wall_seconds);
}

/// Prints the figures and the verdict.
ExitStatus report(const bw::Comparison& comparison) {
  std::printf(
      "error    max |D - reference| %.3g, worst share of the allowed error %.3f, "
      "relative rms %.3g\n",
      comparison.max_error, comparison.max_error_to_allowed, comparison.relative_rms_error);
  if (comparison.verified()) {
    std::printf("verified (%lld elements)\n", static_cast<long long>(comparison.elements));
    return kVerified;
  }
  std::printf("WRONG    %lld of %lld elements are off by more than is allowed",
              static_cast<long long>(comparison.bad_elements),
              static_cast<long long>(comparison.elements));
  if (comparison.first_bad) {
    const bw::BadElement& bad = *comparison.first_bad;
    std::printf("; the first is D[%lld][%lld] = %.9g, expected %.9g, allowed error %.3g",
                static_cast<long long>(bad.row), static_cast<long long>(bad.column), bad.got,
                bad.expected, bad.allowed);
  }
  std::printf("\n");
  return kWrongResult;
}

/// Compares a position-encoded C exactly, everything else by the contract's criterion.
template <class Output>
ExitStatus verify(const bw::BlockwiseProblem& problem, const Run<Output>& run) {
  if (problem.fill == bw::Fill::kPositionC) {
    return report(bw::compare_with_residual(run.d, problem));
  }
  return report(bw::compare_with_reference(run.d, problem.n, bw::blockwise_reference(problem)));
}

/// Bytes that the inputs, the outputs, their copies on the device (which the simulator keeps in
/// host memory too) and the reference take together.
double required_bytes(const ProgramOptions& options) {
  // Codes on host and device, and the decoded float64 and fp32 of the reference's A.
  constexpr double kBytesPerA = 2 + sizeof(double) + sizeof(float);
  constexpr double kBytesPerB = 2;
  // C and D on host and device; the reference and its magnitude.
  constexpr double kBytesPerD = 2 * (sizeof(bw::Bf16) + sizeof(float)) + 2 * sizeof(double);
  const double m = static_cast<double>(options.m), n = static_cast<double>(options.n);
  const double k = static_cast<double>(options.k);
  return kBytesPerA * m * k + kBytesPerB * n * k + kBytesPerD * m * n;
}

/// Refuses, before anything is allocated, what the kernel would refuse and what won't fit.
void validate(const ProgramOptions& options) {
  constexpr int64_t kKUnit = 16, kNUnit = 8;  // 16 bytes of e4m3, of bf16
  bw::validate_gemm_shape(options.m, options.n, options.k);
  bw::require(options.k % kKUnit == 0, "--k ", options.k,
              ": this program stores A and B without padding, and TMA needs rows that are a"
              " multiple of 16 bytes apart: give a multiple of 16.");
  bw::require(options.n % kNUnit == 0, "--n ", options.n,
              ": this program stores C and D without padding, and TMA needs rows that are a"
              " multiple of 16 bytes apart: give a multiple of 8.");
  bw::require(std::isfinite(static_cast<float>(options.beta)), "--beta ", options.beta,
              ": the kernel multiplies in fp32, whose largest number is 3.4e38.");
  constexpr double kGibibyte = 1 << 30;
  const double available = bw::physical_memory_bytes(), required = required_bytes(options);
  bw::require(available == 0 || required < available, "A problem of m ", options.m, ", n ",
              options.n, ", k ", options.k, " takes ", required / kGibibyte,
              " GiB for its matrices and their reference; this machine has ", available / kGibibyte,
              " GiB: give smaller sizes.");
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
ExitStatus run_and_verify(const bw::BlockwiseProblem& problem, const bw::GemmKernel& kernel) {
  const Run<Output> run = run_on_device<Output>(problem, kernel);
  print_time(problem, run);
  return verify(problem, run);
}

ExitStatus run_program(const ProgramOptions& options) {
  if (options.list_configs) {
    list_configurations();
    return kVerified;
  }
  validate(options);
  const bw::GemmKernel& kernel = choose_kernel(options);
  print_machine();
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
  try {
    if (!command_line.parse(argc, argv)) {
      command_line.print_help(std::cout, "05_blockwise_fp8_gemm");
      return kVerified;
    }
    return run_program(options);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: The host ran out of memory; give smaller sizes.\n");
    return kFailure;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", error.what());
    return kFailure;
  }
}
