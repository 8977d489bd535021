#include "tests/benchmarks/hopper/entrants.hpp"

#include <algorithm>
#include <cstdio>

#include "common/host/error.hpp"
#include "solutions/06_hopper_fp8_gemm/summation_order.hpp"
#include "tests/gpu_reference/tensor_core_model.hpp"

namespace bw {
namespace {

constexpr int kPoisonByte = 0xff;

/// Runs once into a poisoned D, dense [m, n]; its relative error. Throws Error when it is wrong:
/// when elements are off by more than is allowed that aren't, bit for bit, what the tensor cores
/// compute for `gemm` in `order`, or when there are too many of them.
double verify(const std::string& who, const Shape& shape, const Launch& launch, Bf16* d,
              const BlockwiseFp8GemmArguments& gemm, const hopper::SummationOrder& order,
              const DeviceReference& reference) {
  const size_t bytes = sizeof(Bf16) * reference.m * reference.n;
  check_cuda(cudaMemset(d, kPoisonByte, bytes), "poison D");
  launch();
  const DeviceComparison comparison = compare_on_device(d, reference.n, reference);
  if (!comparison.verified()) {
    const ModelComparison found =
        compare_with_model(d, reference.n, tensor_core_model(gemm, order), reference);
    require(found.verified(), who, " is wrong for ", shape.name(), ": ", comparison.describe(),
            ". (", found.describe(), ".) Nothing is timed.");
    std::fprintf(stderr,
                 "note: %s, %s: %lld elements outside are, bit for bit, what the tensor cores "
                 "compute (chapter 6)\n",
                 who.c_str(), shape.name().c_str(), static_cast<long long>(found.outside));
  }
  return comparison.relative_frobenius_error;
}

}  // namespace

Launch our_launch(const hopper::GemmPlan& plan) {
  return [&plan] { plan.launch(nullptr); };
}

Launch peer_launch(const CublasLtMatmul& peer, int algorithm) {
  return [&peer, algorithm] { peer.run(algorithm, nullptr); };
}

std::vector<hopper::GemmPlan> make_plans(const BlockwiseFp8GemmArguments& arguments,
                                         const std::string& config) {
  std::vector<hopper::GemmPlan> plans;
  if (config == "auto") {
    plans.emplace_back(arguments);
  } else if (config == "all") {
    for (const hopper::GemmChoice& choice : hopper::gemm_choices()) {
      plans.emplace_back(arguments, choice);
    }
  } else {
    plans.emplace_back(arguments, hopper::find_gemm_choice(config));
  }
  return plans;
}

double verify_plan(const hopper::GemmPlan& plan, const Shape& shape,
                   const BlockwiseFp8GemmArguments& gemm, const DeviceReference& reference) {
  return verify("The configuration " + plan.choice().name(), shape, our_launch(plan),
                static_cast<Bf16*>(gemm.d), gemm, plan.summation_order(), reference);
}

std::vector<PeerAlgorithm> usable_algorithms(const CublasLtMatmul& peer, const Shape& shape,
                                             Bf16* d, const BlockwiseFp8GemmArguments& gemm,
                                             const DeviceReference& reference) {
  const hopper::SummationOrder one_chain{KParts()};
  std::vector<PeerAlgorithm> usable;
  for (int i = 0; i < peer.algorithms(); ++i) {
    try {
      usable.push_back({i, verify("cuBLASLt's algorithm " + std::to_string(i), shape,
                                  peer_launch(peer, i), d, gemm, one_chain, reference)});
    } catch (const Error& error) {
      std::fprintf(stderr, "note: %s\n", error.what());
    }
  }
  return usable;
}

std::optional<PeerAlgorithm> fastest_queued(const CublasLtMatmul& peer,
                                            const std::vector<PeerAlgorithm>& usable) {
  if (usable.empty()) return std::nullopt;
  std::vector<Launch> launches;
  for (const PeerAlgorithm& algorithm : usable) {
    launches.push_back(peer_launch(peer, algorithm.place));
  }
  const std::vector<Times> times = time_queued_launches(launches, kTrialWarmUps, kTrialRepeats);
  const auto best =
      std::min_element(times.begin(), times.end(),
                       [](const Times& x, const Times& y) { return x.median() < y.median(); });
  return usable[best - times.begin()];
}

}  // namespace bw
