#pragma once
/// \file
/// The program's part for several products in one launch: options, run, verdict, times.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "common/host/ceil_div.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/executable_graph.hpp"
#include "common/host/hopper_device.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_program.hpp"
#include "solutions/06_hopper_fp8_gemm/grouped_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/grouped_problem.hpp"

namespace bw::hopper {

/// The options in addition to those of one GEMM.
struct GroupedOptions {
  int64_t groups = 0;  ///< products; 0: a single GEMM, not a group
  int layout = 0;      ///< index into layout_names(), in the order of GroupLayout

  /// Possible arrangements of the rows.
  static std::vector<const char*> layout_names() { return {"contiguous", "masked"}; }

  /// Adds the options to a command line; this object must outlive its parsing.
  void add_to(CommandLine& command_line) {
    command_line.add(
        "groups", groups,
        "products in one launch, each with a B of its own and 0 to m rows, as the seed "
        "says; 0: one GEMM");
    command_line.add("group-layout", layout, layout_names(),
                     "the products' rows one behind the other, or in a room of m rows each");
  }

  /// Throws Error for a number of groups that makes no sense or doesn't fit in memory.
  void validate(const GemmOptions& gemm) const {
    constexpr int64_t kMostGroups = 4096;
    require(groups >= 1 && groups <= kMostGroups, "--groups is ", groups, "; give 1 to ",
            kMostGroups, ", or 0 for one GEMM.");
    require(gemm.fill == static_cast<int>(Fill::kNormal),
            "--fill position-c is for one GEMM; leave it out with --groups.");
    require_host_memory(static_cast<double>(groups) *
                        static_cast<double>(gemm.m * gemm.k + gemm.n * gemm.k +
                                            gemm.m * gemm.n * (2 * sizeof(Bf16) + sizeof(float))));
  }

  /// Rows of each product: any number from 0 to `most`, the first product's is `most` itself.
  std::vector<int64_t> rows(int64_t most, uint64_t seed) const {
    const RandomNormal normal(seed, /*stream=*/7);
    std::vector<int64_t> result(static_cast<size_t>(groups), most);
    for (size_t group = 1; group < result.size(); ++group) {
      const double share = 0.5 + 0.35 * static_cast<double>(normal(group));
      result[group] = static_cast<int64_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(most));
    }
    return result;
  }
};

/// The choice that was named, or the one for the problem's products.
inline GemmChoice grouped_choice_for(const GemmOptions& options, const GroupedProblem& problem) {
  if (options.chooses_config()) return find_gemm_choice(options.config, grouped_gemm_choices());
  GroupedFp8GemmArguments arguments;
  arguments.gemm.m = problem.all_rows();
  arguments.gemm.n = problem.n;
  arguments.gemm.k = problem.k;
  arguments.groups = static_cast<int64_t>(problem.rows.size());
  arguments.layout = problem.layout;
  arguments.expected_rows = problem.mean_rows();
  return choose_grouped_gemm(arguments, device_attribute(cudaDevAttrMultiProcessorCount));
}

/// Device time of a graph's launches, the least of `launches`, in milliseconds.
inline float least_time(const ExecutableGraph& graph, int64_t launches) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  EventTimer timer;
  float least = 0;
  for (int64_t i = 0; i < launches; ++i) {
    timer.start(kDefaultStream);
    graph.launch(kDefaultStream);
    const float time = timer.stop(kDefaultStream);
    least = i == 0 ? time : std::min(least, time);
  }
  return least;
}

/// Prints the errors of the first product that isn't right, or the worst figures of all.
inline ExitStatus report_groups(const std::vector<GroupVerification>& results) {
  int64_t elements = 0;
  double share = 0;
  for (const GroupVerification& result : results) {
    if (!result.verification.comparison.verified()) {
      std::printf("product  %zu is wrong; the products before it are right\n", result.group);
      return report(result.verification);
    }
    elements += result.verification.comparison.elements;
    share = std::max(share, result.verification.comparison.max_error_to_allowed);
  }
  std::printf("error    worst share of the allowed error %.3g\n", share);
  std::printf("verified (%lld elements of %zu products)\n", static_cast<long long>(elements),
              results.size());
  return kVerified;
}

/// Runs, verifies (unless `unverified`) and times all products in one launch, and each by a launch
/// of its own.
inline ExitStatus run_groups(const GemmOptions& gemm, const GroupedOptions& options,
                             int64_t launches, bool unverified) {
  options.validate(gemm);
  const auto layout = static_cast<GroupLayout>(options.layout);
  const GroupedProblem problem{.n = gemm.n,
                               .k = gemm.k,
                               .beta = static_cast<float>(gemm.beta),
                               .seed = static_cast<uint64_t>(gemm.seed),
                               .rows = options.rows(gemm.m, static_cast<uint64_t>(gemm.seed)),
                               .layout = layout,
                               .room = round_up(gemm.m, kGroupRows)};
  require_hopper();
  const GemmChoice choice = grouped_choice_for(gemm, problem);
  print_machine();
  std::printf("config   %s\n", choice.name().c_str());
  std::printf("shape    %lld products of n %lld, k %lld, beta %g, seed %lld, layout %s; rows",
              static_cast<long long>(options.groups), static_cast<long long>(gemm.n),
              static_cast<long long>(gemm.k), gemm.beta, static_cast<long long>(gemm.seed),
              GroupedOptions::layout_names()[options.layout]);
  double flops = 0;
  for (const int64_t rows : problem.rows) {
    std::printf(" %lld", static_cast<long long>(rows));
    flops += gemm_flops(rows, gemm.n, gemm.k);
  }
  std::printf("\n");
  GroupedDeviceProblem on_device(problem);
  const GroupedFp8GemmArguments arguments = on_device.arguments();
  const WallTimer wall;
  grouped_fp8_gemm(arguments, choice, nullptr);
  const std::vector<Bf16> d = on_device.download_d();
  const double wall_seconds = wall.seconds();
  if (unverified) {
    std::printf("D was not verified\n");
  } else {
    const ExitStatus status = report_groups(verify_groups(problem, d, *choice.kernel));
    if (status != kVerified) return status;  // the time of a wrong result tells nothing
  }

  const int64_t timed = is_simulated() ? 1 : launches;
  const ExecutableGraph together(
      [&](cudaStream_t stream) { grouped_fp8_gemm(arguments, choice, stream); });
  print_time(least_time(together, timed), flops, wall_seconds);
  const ExecutableGraph apart([&](cudaStream_t stream) {
    for (size_t group = 0; group < problem.rows.size(); ++group) {
      if (problem.rows[group] > 0) blockwise_fp8_gemm(on_device.product_arguments(group), stream);
    }
  });
  std::printf("apart    %.3f us on the device with a launch for each product\n",
              least_time(apart, timed) * 1e3);
  return kVerified;
}

}  // namespace bw::hopper
