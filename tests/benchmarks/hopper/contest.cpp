#include "tests/benchmarks/hopper/contest.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/host/device_attribute.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "tests/benchmarks/hopper/timing.hpp"
#include "tests/gpu_reference/cublaslt_matmul.hpp"
#include "tests/gpu_reference/float64_reference.hpp"

namespace bw {
namespace {

/// Launches with which the candidates for the final are chosen.
constexpr int kTrialWarmUps = 2, kTrialRepeats = 7;
constexpr int kPoisonByte = 0xff;

Launch our_launch(const BlockwiseFp8GemmArguments& arguments, const hopper::GemmKernel& kernel) {
  return [&arguments, &kernel] { hopper::blockwise_fp8_gemm(arguments, kernel, nullptr); };
}

Launch peer_launch(const CublasLtMatmul& peer, int algorithm) {
  return [&peer, algorithm] { peer.run(algorithm, nullptr); };
}

/// Runs once into a poisoned D; its relative error. Throws Error when it is wrong.
double verify(const std::string& who, const Shape& shape, const Launch& launch, Bf16* d,
              const DeviceReference& reference) {
  const size_t bytes = sizeof(Bf16) * reference.m * reference.n;
  check_cuda(cudaMemset(d, kPoisonByte, bytes), "poison D");
  launch();
  const DeviceComparison comparison = compare_on_device(d, reference.n, reference);
  require(comparison.verified(), who, " is wrong for ", shape.name(), ": ", comparison.describe(),
          ". Nothing is timed.");
  return comparison.relative_frobenius_error;
}

/// The configurations that take part in the trial, by the option's value.
std::vector<const hopper::GemmKernel*> candidates(const Shape& shape, const std::string& config) {
  if (config == "auto") {
    return {&hopper::choose_gemm_kernel(shape.m, shape.n, shape.k,
                                        device_attribute(cudaDevAttrMultiProcessorCount))};
  }
  if (config != "all") return {&hopper::find_gemm_kernel(config)};
  std::vector<const hopper::GemmKernel*> all;
  for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) all.push_back(&kernel);
  return all;
}

/// Times every candidate and puts the fastest first.
std::vector<ConfigTime> rank_configs(std::vector<const hopper::GemmKernel*>& kernels,
                                     const BlockwiseFp8GemmArguments& arguments) {
  std::vector<Launch> launches;
  for (const auto* kernel : kernels) launches.push_back(our_launch(arguments, *kernel));
  const std::vector<Times> times = time_in_turn(launches, kTrialWarmUps, kTrialRepeats);
  std::vector<std::pair<double, const hopper::GemmKernel*>> ranked;
  for (size_t i = 0; i < kernels.size(); ++i) ranked.emplace_back(times[i].median(), kernels[i]);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<ConfigTime> result;
  for (size_t i = 0; i < ranked.size(); ++i) {
    kernels[i] = ranked[i].second;
    result.push_back({ranked[i].second->name, ranked[i].first});
  }
  return result;
}

/// An algorithm of cuBLASLt that ran and was right.
struct PeerAlgorithm {
  int place;  ///< in the heuristic's list
  double error;
};

/// Tries all that cuBLASLt proposes.
std::vector<PeerAlgorithm> usable_algorithms(const CublasLtMatmul& peer, const Shape& shape,
                                             Bf16* d, const DeviceReference& reference) {
  std::vector<PeerAlgorithm> usable;
  for (int i = 0; i < peer.algorithms(); ++i) {
    try {
      usable.push_back({i, verify("cuBLASLt's algorithm " + std::to_string(i), shape,
                                  peer_launch(peer, i), d, reference)});
    } catch (const Error& error) {
      std::fprintf(stderr, "note: %s\n", error.what());
    }
  }
  return usable;
}

/// The fastest of them.
const PeerAlgorithm& fastest_algorithm(const CublasLtMatmul& peer,
                                       const std::vector<PeerAlgorithm>& usable) {
  std::vector<Launch> launches;
  for (const PeerAlgorithm& algorithm : usable) {
    launches.push_back(peer_launch(peer, algorithm.place));
  }
  const std::vector<Times> times = time_in_turn(launches, kTrialWarmUps, kTrialRepeats);
  const auto best =
      std::min_element(times.begin(), times.end(),
                       [](const Times& x, const Times& y) { return x.median() < y.median(); });
  return usable[best - times.begin()];
}

}  // namespace

ContestResult hold_contest(const Shape& shape, const ContestOptions& options) {
  const BlockwiseProblem problem = make_blockwise_problem(
      shape.m, shape.n, shape.k, static_cast<float>(options.beta), options.seed, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const BlockwiseFp8GemmArguments& arguments = on_device.arguments();
  auto* our_d = static_cast<Bf16*>(arguments.d);
  DeviceBuffer<Bf16> peer_d(shape.m * shape.n);
  const CublasLtMatmul peer(arguments, peer_d.data(), options.algorithms);

  ContestResult result{};
  result.shape = shape;
  result.beta = options.beta;
  std::vector<PeerAlgorithm> algorithms;
  std::vector<const hopper::GemmKernel*> kernels = candidates(shape, options.config);
  {
    const DeviceReference reference = float64_reference(arguments);
    for (const auto* kernel : kernels) {
      result.our_error = verify("The configuration " + kernel->name, shape,
                                our_launch(arguments, *kernel), our_d, reference);
    }
    algorithms = usable_algorithms(peer, shape, peer_d.data(), reference);
  }
  result.peer_algorithms = static_cast<int>(algorithms.size());
  result.peer_failures = peer.algorithms() - result.peer_algorithms;
  if (kernels.size() > 1) result.all_configs = rank_configs(kernels, arguments);
  result.config = kernels.front()->name;

  std::vector<Launch> finalists = {our_launch(arguments, *kernels.front())};
  if (result.has_peer()) {
    const PeerAlgorithm& fastest = fastest_algorithm(peer, algorithms);
    result.peer_algorithm = fastest.place;
    result.peer_error = fastest.error;
    finalists.push_back(peer_launch(peer, result.peer_algorithm));
  }
  const std::vector<Times> times = time_in_turn(finalists, options.warm_ups, options.repeats);
  result.our_time = times[0].median();
  result.our_spread = times[0].spread();
  if (result.has_peer()) {
    result.peer_time = times[1].median();
    result.peer_spread = times[1].spread();
  }
  return result;
}

}  // namespace bw
