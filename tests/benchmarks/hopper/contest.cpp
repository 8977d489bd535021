#include "tests/benchmarks/hopper/contest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/host/executable_graph.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "tests/benchmarks/hopper/entrants.hpp"
#include "tests/benchmarks/hopper/timing.hpp"
#include "tests/gpu_reference/cublaslt_matmul.hpp"
#include "tests/gpu_reference/float64_reference.hpp"

namespace bw {
namespace {

/// Blocks of single launches for each contestant; odd, so that there is a middle one.
constexpr int kBlocks = 3;

MedianTime median_of(const Times& times) { return {times.median(), times.spread()}; }

/// Times every candidate and puts the fastest first.
std::vector<ConfigTime> rank_configs(std::vector<hopper::GemmPlan>& plans) {
  std::vector<Launch> launches;
  launches.reserve(plans.size());
  for (const hopper::GemmPlan& plan : plans) launches.push_back(our_launch(plan));
  const std::vector<Times> times = time_queued_launches(launches, kTrialWarmUps, kTrialRepeats);
  std::vector<size_t> order(plans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return times[x].median() < times[y].median(); });
  std::vector<hopper::GemmPlan> sorted;
  std::vector<ConfigTime> result;
  for (const size_t i : order) {
    result.push_back({plans[i].choice().name(), times[i].median()});
    sorted.push_back(std::move(plans[i]));
  }
  plans = std::move(sorted);
  return result;
}

/// The block whose median is the middle one: a block disturbed as a whole doesn't decide.
MedianTime middle_block(std::vector<MedianTime> blocks) {
  const auto middle = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2);
  std::nth_element(blocks.begin(), middle, blocks.end(),
                   [](const auto& x, const auto& y) { return x.microseconds < y.microseconds; });
  return *middle;
}

/// Blocks of single launches, the contestants in turn; of each the middle block.
std::vector<MedianTime> time_in_turn(const std::vector<Launch>& contestants,
                                     const ContestOptions& options) {
  std::vector<std::vector<MedianTime>> blocks(contestants.size());
  for (int block = 0; block < kBlocks; ++block) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      blocks[i].push_back(
          median_of(time_single_launches(contestants[i], options.warm_ups, options.repeats)));
    }
  }
  std::vector<MedianTime> middle;
  middle.reserve(blocks.size());
  for (auto& of_contestant : blocks) middle.push_back(middle_block(std::move(of_contestant)));
  return middle;
}

/// Times ours, and cuBLASLt's algorithm `place` (if there is one) by its call and as a graph.
void compare_single_launches(const CublasLtMatmul& peer, std::optional<int> place,
                             const Launch& ours, const ContestOptions& options,
                             ContestResult& result) {
  if (!place) {
    result.single = result.graph = TimePair{time_in_turn({ours}, options).front(), {}, 0};
    return;
  }
  const ExecutableGraph graph([&](cudaStream_t stream) { peer.run(*place, stream); });
  const std::vector<MedianTime> times =
      time_in_turn({peer_launch(peer, *place), ours, [&graph] { graph.launch(nullptr); }}, options);
  result.single = TimePair{times[1], times[0], *place};
  result.graph = TimePair{times[1], times[2], *place};
}

/// Ours and cuBLASLt's algorithm `place`, if there is one, take turns.
TimePair compare_queued_launches(const CublasLtMatmul& peer, std::optional<int> place,
                                 const Launch& ours, const ContestOptions& options) {
  std::vector<Launch> finalists = {ours};
  if (place) finalists.push_back(peer_launch(peer, *place));
  const std::vector<Times> times =
      time_queued_launches(finalists, options.warm_ups, options.repeats);
  TimePair comparison{median_of(times.front()), {}, 0};
  if (place) {
    comparison.peer = median_of(times.back());
    comparison.peer_algorithm = *place;
  }
  return comparison;
}

}  // namespace

EmptyLaunch time_empty_launch(const ContestOptions& options) {
  EmptyLaunch empty;
  if (options.times_single()) {
    const ExecutableGraph graph([](cudaStream_t stream) { launch_empty(stream); });
    const std::vector<MedianTime> times =
        time_in_turn({[] { launch_empty(nullptr); }, [&graph] { graph.launch(nullptr); }}, options);
    empty.single = times[0];
    empty.graph = times[1];
  }
  if (options.times_queued()) {
    empty.queued = median_of(
        time_queued_launches({[] { launch_empty(nullptr); }}, options.warm_ups, options.repeats)
            .front());
  }
  return empty;
}

ContestResult hold_contest(const Shape& shape, const ContestOptions& options) {
  const BlockwiseProblem problem = make_blockwise_problem(
      shape.m, shape.n, shape.k, static_cast<float>(options.beta), options.seed, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const BlockwiseFp8GemmArguments& arguments = on_device.arguments();
  DeviceBuffer<Bf16> peer_d(shape.m * shape.n);
  const CublasLtMatmul peer(arguments, peer_d.data(), options.algorithms);

  ContestResult result{};
  result.shape = shape;
  result.beta = options.beta;
  std::vector<PeerAlgorithm> algorithms;
  std::map<std::string, double> our_errors;
  std::vector<hopper::GemmPlan> plans = make_plans(arguments, options.config);
  {
    const DeviceReference reference = float64_reference(arguments);
    for (const hopper::GemmPlan& plan : plans) {
      our_errors[plan.choice().name()] = verify_plan(plan, shape, arguments, reference);
    }
    algorithms = usable_algorithms(peer, shape, peer_d.data(), arguments, reference);
  }
  result.peer_algorithms = static_cast<int>(algorithms.size());
  result.peer_failures = peer.algorithms() - result.peer_algorithms;
  if (plans.size() > 1) result.all_configs = rank_configs(plans);
  const hopper::GemmPlan& plan = plans.front();
  result.config = plan.choice().name();
  result.our_error = our_errors.at(result.config);
  const Launch ours = our_launch(plan);
  const std::optional<PeerAlgorithm> fastest = fastest_queued(peer, algorithms);
  if (fastest) result.peer_error = fastest->error;
  const std::optional<int> place = fastest ? std::optional(fastest->place) : std::nullopt;
  if (options.times_single()) compare_single_launches(peer, place, ours, options, result);
  if (options.times_queued()) result.queued = compare_queued_launches(peer, place, ours, options);
  return result;
}

}  // namespace bw
