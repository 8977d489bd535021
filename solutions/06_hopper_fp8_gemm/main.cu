/// \file
/// Runs the blockwise-scaled FP8 GEMM on a Hopper GPU or on the simulated one, verifies it and
/// prints its time. Exit status: 0 verified (or --unverified), 1 wrong result, 2 bad input or a
/// failure on the way.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/hopper_device.hpp"
#include "common/host/lasting_text.hpp"
#include "common/host/program.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_program.hpp"
#include "solutions/06_hopper_fp8_gemm/grouped_program.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_verification.hpp"
#include "solutions/06_hopper_fp8_gemm/tuned_choices.hpp"

namespace {

constexpr cudaStream_t kDefaultStream = nullptr;

struct ProgramOptions : bw::GemmOptions {
  int64_t launches = 30;    ///< timed ones, on a GPU
  bool unverified = false;  ///< print the time alone
  bool queued = false;      ///< time launches that are queued after other work
  bool describe = false;    ///< print what the configuration is made of, and end
  bool tunes = false;       ///< find the configuration by measurement, and remember it
  /// Where; empty: nowhere.
  const char* tuned = bw::lasting_text(bw::hopper::default_tuned_path());
  bw::hopper::GroupedOptions grouped;

  /// Whether there is a file of what was measured.
  bool has_tuned() const { return *tuned != '\0'; }
  /// Launches that are timed: in the simulator they all take the same time.
  int64_t timed_launches() const { return bw::is_simulated() ? 1 : launches; }
  /// What is remembered of the problem.
  bw::hopper::TunedShape tuned_shape() const {
    return bw::hopper::TunedShape::here(m, n, k, beta != 0);
  }
};

/// The configuration that was named, the one that was measured to be the fastest for the shape, or
/// the one that is predicted to be. A wrong name is refused whatever the machine.
bw::hopper::GemmChoice choose(const ProgramOptions& options) {
  if (options.chooses_config()) {
    const bw::hopper::GemmChoice choice = bw::hopper::find_gemm_choice(options.config);
    bw::require_hopper();
    return choice;
  }
  bw::require_hopper();
  if (options.has_tuned()) {
    const auto choices = bw::hopper::TunedChoices::read(options.tuned);
    const bw::hopper::TunedShape shape = options.tuned_shape();
    if (const auto* const choice = choices.choice_for(shape)) return *choice;
    if (const auto* const choice = choices.find(shape)) {
      std::fprintf(stderr,
                   "note: %s names the configuration %s for this shape, which isn't here; "
                   "--tune finds another one\n",
                   options.tuned, choice->config.c_str());
    }
  }
  return bw::hopper::choose_gemm(options.m, options.n, options.k,
                                 bw::device_attribute(cudaDevAttrMultiProcessorCount),
                                 bw::hopper::Workspace::kOfPlan);
}

/// Refuses what --tune can't go with.
void validate_tuning(const ProgramOptions& options) {
  if (!options.tunes) return;
  bw::require(!options.chooses_config(), "--tune finds the configuration: leave --config out.");
  bw::require(!options.unverified, "--tune remembers what was verified: leave --unverified out.");
  bw::require(options.grouped.groups == 0, "--tune is for one GEMM; leave out --tune or --groups.");
  bw::require(options.has_tuned(),
              "--tune has no place to remember what it finds: give a file with --tuned.");
}

/// Remembers a measurement, and prints where.
void remember(const bw::hopper::TunedChoice& choice, const std::string& path) {
  auto choices = bw::hopper::TunedChoices::read(path);
  choices.remember(choice);
  choices.write(path);
  std::printf("tuned    %s, %.2f us; remembered in %s\n", choice.config.c_str(),
              choice.microseconds, path.c_str());
}

/// More code than a GPU keeps near its SMs of other kernels, `rounds` times: what a program does
/// between two launches of a GEMM. `sink` is null, which the compiler does not know.
__global__ void other_work(int rounds, float factor, float* sink) {
  constexpr int kInstructions = 192 * 1024 / 16;  // of 16 bytes: 192 KiB
  constexpr int kChains = 8;
  float sums[kChains] = {};
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kInstructions; ++i)
      sums[i % kChains] = fmaf(sums[i % kChains], factor, factor);
  }
  float sum = 0;
  for (const float one : sums) sum += one;
  if (sink != nullptr) *sink = sum;
}

/// Keeps all SMs busy for longer than the host takes to enqueue a launch between two events.
void enqueue_other_work() {
  const int rounds = bw::is_simulated() ? 1 : 5;
  const auto sms = static_cast<uint32_t>(bw::device_attribute(cudaDevAttrMultiProcessorCount));
  other_work<<<sms, 32, 0, kDefaultStream>>>(rounds, 1.0f, nullptr);
  bw::check_cuda(cudaGetLastError(), "launch other work");
}

/// Median device time of `launches` single launches after warm-ups, in milliseconds; `queued`: of
/// launches that follow other work.
float median_time(const bw::hopper::GemmPlan& plan, int64_t launches, bool queued) {
  const int64_t warm_ups = std::min<int64_t>(5, launches - 1);
  bw::EventTimer timer;
  std::vector<float> milliseconds;
  for (int64_t i = 0; i < warm_ups + launches; ++i) {
    if (queued) enqueue_other_work();
    timer.start(kDefaultStream);
    plan.launch(kDefaultStream);
    const float time = timer.stop(kDefaultStream);
    if (i >= warm_ups) milliseconds.push_back(time);
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + launches / 2, milliseconds.end());
  return milliseconds[launches / 2];
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  if (options.list_configs) {
    bw::list_gemm_kernels(options.grouped.groups == 0 ? bw::hopper::gemm_kernels()
                                                      : bw::hopper::grouped_gemm_kernels());
    return bw::kVerified;
  }
  options.validate();
  constexpr int64_t kMostLaunches = 100000;
  bw::require(options.launches >= 1 && options.launches <= kMostLaunches, "--launches is ",
              options.launches, "; give 1 to 100000.");
  validate_tuning(options);
  if (options.grouped.groups != 0) {
    return bw::hopper::run_groups(options, options.grouped, options.launches, options.unverified);
  }
  bw::hopper::GemmChoice choice = choose(options);
  if (options.describe) {
    const bw::hopper::GemmKernel& kernel = *choice.kernel;
    bw::print_description({kernel.name}, kernel.describe(kernel.traits.split_k));
    return bw::kVerified;
  }
  bw::print_machine();
  if (!options.tunes) options.print(choice.name().c_str());
  const bw::BlockwiseProblem problem = options.make_problem();
  const bw::DeviceProblem on_device(problem);
  std::optional<bw::hopper::TunedChoice> tuned;
  if (options.tunes) {
    tuned = bw::hopper::measure_configurations(on_device.arguments(), options.tuned_shape(),
                                               options.timed_launches());
    choice = bw::hopper::find_gemm_choice(tuned->config);
    options.print(choice.name().c_str());
  }

  const bw::hopper::GemmPlan plan(on_device.arguments(), choice);

  const bw::WallTimer wall;
  plan.launch(kDefaultStream);
  const std::vector<bw::Bf16> d = on_device.download_d<bw::Bf16>();
  const double wall_seconds = wall.seconds();
  if (options.unverified) {
    std::printf("D was not verified\n");
  } else {
    const bw::ExitStatus status = bw::hopper::verify(problem, d, plan.summation_order());
    if (status != bw::kVerified) return status;  // the time of a wrong result tells nothing
  }
  if (tuned) remember(*tuned, options.tuned);
  bw::print_time(median_time(plan, options.timed_launches(), options.queued),
                 bw::gemm_flops(problem.m, problem.n, problem.k), wall_seconds);
  return bw::kVerified;
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  options.m = options.n = options.k = 2048;
  bw::CommandLine command_line(
      "D = A * B^T + beta * C with blockwise-scaled FP8 operands (A 1x128, B 128x128) on a Hopper\n"
      "GPU or a simulated one, verified against a float64 reference; then its time, on a GPU the\n"
      "median of its launches.");
  options.add_to(command_line);
  options.grouped.add_to(command_line);
  command_line.add("launches", options.launches, "how often the kernel is launched to be timed");
  command_line.add_flag("unverified", options.unverified,
                        "print the time of a result that nobody has looked at");
  command_line.add_flag("queued", options.queued,
                        "time launches that wait in the queue behind other work, as in the "
                        "benchmark, instead of launches on an idle device");
  command_line.add_flag("describe", options.describe,
                        "print what the configuration is made of, and end");
  command_line.add_flag("tune", options.tunes,
                        "time all configurations for this shape, and remember the fastest");
  command_line.add("tuned", options.tuned,
                   "file of what --tune remembers; where it has the shape on this machine, its "
                   "configuration is taken. Empty: none");
  return bw::run_main(command_line, "06_hopper_fp8_gemm", argc, argv,
                      [&] { return run_program(options); });
}
