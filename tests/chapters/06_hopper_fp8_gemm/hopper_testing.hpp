#pragma once
/// \file
/// What the tests of the Hopper GEMM share.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/program.hpp"
#include "common/host/stream.hpp"
#include "common/host/why_not_hopper.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_verification.hpp"
#include "tests/gpu_reference/float64_reference.hpp"
#include "tests/gpu_reference/kernel_model.hpp"
#include "tests/gpu_reference/tensor_core_model.hpp"

namespace bw {

constexpr cudaStream_t kDefaultStream = nullptr;
constexpr int kPoisonByte = 0xff;
constexpr uint16_t kPoison = 0xffff;  ///< an unwritten element of D

/// What is for a GPU, or for the simulator: there a test takes shapes that two cores compute within
/// a second, on a machine of few multiprocessors (simulated_machine.cpp).
template <class T>
T by_device(T on_gpu, T simulated) {
  return std::move(is_simulated() ? simulated : on_gpu);
}

/// A test that needs a Hopper GPU, or a simulated one, and is skipped without.
class HopperTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string found = why_not_hopper();
    if (!found.empty()) {
      GTEST_SKIP() << "needs a Hopper GPU (compute capability 9.0); found: " << found;
    }
  }
};

/// In the simulator one configuration of each kind takes part: result_hashes.cpp has the bits of
/// all.
inline std::vector<const hopper::GemmKernel*> tested_configs() {
  std::vector<const hopper::GemmKernel*> tested;
  std::set<std::tuple<bool, int, bool, bool, bool, bool, bool, bool>> seen;
  for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) {
    const hopper::GemmTraits& t = kernel.traits;
    const bool is_new =
        seen.emplace(t.swap_ab, t.swap_ab ? t.split_k > 1 : t.split_k, t.stream_k, t.direct_output,
                     t.writes_behind, t.output_group > 1, t.two_products, t.warpgroups_along_n > 1)
            .second;
    if (is_new || !is_simulated()) tested.push_back(&kernel);
  }
  return tested;
}

/// Calls `body` for every configuration that takes part, with its name in every message.
inline void for_every_config(const std::function<void(const hopper::GemmKernel&)>& body) {
  for (const hopper::GemmKernel* const kernel : tested_configs()) {
    SCOPED_TRACE(kernel->name);
    body(*kernel);
  }
}

/// Whether sweeps take every pair of a configuration and a case: on a GPU, and in the slow test.
inline bool takes_every_pair() {
  return !is_simulated() || std::getenv("BW_TEST_SWEEP") != nullptr;
}

/// Whether a configuration takes part in the case with this number of a sweep. In the simulator
/// each takes every third case, beginning with another one, so that each case meets several kinds
/// of configurations. That is enough there: an ordinary test also compares the bits of every
/// configuration on ragged shapes with those of an H100 (hopper_hashes.txt).
inline bool takes_part(size_t number_of_case, const hopper::GemmKernel& kernel) {
  constexpr size_t kShare = 3;
  if (takes_every_pair()) return true;
  const std::vector<const hopper::GemmKernel*> tested = tested_configs();
  const size_t place = std::find(tested.begin(), tested.end(), &kernel) - tested.begin();
  return (number_of_case + place) % kShare == 0;
}

/// for_every_config() of those that take part in a case.
inline void for_configs_of_case(size_t number_of_case,
                                const std::function<void(const hopper::GemmKernel&)>& body) {
  for_every_config([&](const hopper::GemmKernel& kernel) {
    if (takes_part(number_of_case, kernel)) body(kernel);
  });
}

/// Calls `body` for the configurations whose turn it is, of those that take part: in the simulator
/// a third of those that divide tiles among clusters and a third of the others. For what plans,
/// streams and workspaces do alike for every kernel: the tests take different turns, so that each
/// configuration meets several of them. The slow test takes all.
inline void for_configs_in_turn(size_t turn,
                                const std::function<void(const hopper::GemmKernel&)>& body) {
  constexpr size_t kTurns = 3;
  size_t place[2] = {};
  for_every_config([&](const hopper::GemmKernel& kernel) {
    const size_t turn_of_kernel = place[kernel.traits.stream_k]++ % kTurns;
    if (takes_every_pair() || turn_of_kernel == turn % kTurns) body(kernel);
  });
}

/// Whether `kernel` divides tiles of `gemm` along K among clusters.
inline bool splits_tiles(const BlockwiseFp8GemmArguments& gemm, const hopper::GemmKernel& kernel) {
  return schedule_of(gemm, kernel).split > 0;
}

inline bool same_bits(const std::vector<Bf16>& x, const std::vector<Bf16>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](Bf16 a, Bf16 b) { return a.bits == b.bits; });
}

/// D of a problem as it is downloaded.
inline std::vector<Bf16> run_once(DeviceProblem& on_device, const hopper::GemmKernel& kernel) {
  on_device.poison_d();
  hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
  return on_device.download_d<Bf16>();
}

/// Fails unless D, dense in device memory, is within the tolerance of the reference.
inline void expect_verified(const void* d, const DeviceReference& reference) {
  const DeviceComparison comparison =
      compare_on_device(static_cast<const Bf16*>(d), reference.n, reference);
  EXPECT_TRUE(comparison.verified()) << comparison.describe();
}

/// Problems of different shapes, each with a stream of its own.
class ProblemsInStreams {
 public:
  struct Size {
    int64_t m, n, k;
  };

  explicit ProblemsInStreams(const std::vector<Size>& sizes) : streams_(sizes.size()) {
    constexpr float kBeta = 0.5f;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto& [m, n, k] = sizes[i];
      problems_.push_back(std::make_unique<DeviceProblem>(
          make_blockwise_problem(m, n, k, kBeta, /*seed=*/i, Fill::kNormal)));
      references_.push_back(float64_reference(arguments(i)));
    }
    check_cuda(cudaDeviceSynchronize(), "finish the references");
  }

  size_t count() const { return problems_.size(); }
  const BlockwiseFp8GemmArguments& arguments(size_t i) const { return problems_[i]->arguments(); }

  /// Launches every problem, `rounds` times in its stream, all at once by `launch(problem's index,
  /// stream)`; fails unless each D is within the tolerance.
  void expect_undisturbed(int rounds, const std::function<void(size_t, cudaStream_t)>& launch) {
    for (const auto& problem : problems_) problem->poison_d();
    check_cuda(cudaDeviceSynchronize(), "poison");
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < count(); ++i) launch(i, streams_[i].get());
    }
    check_cuda(cudaDeviceSynchronize(), "finish the streams");
    for (size_t i = 0; i < count(); ++i) expect_verified(arguments(i).d, references_[i]);
  }

 private:
  std::vector<Stream> streams_;
  std::vector<std::unique_ptr<DeviceProblem>> problems_;
  std::vector<DeviceReference> references_;
};

/// Fails unless every element of D is within the tolerance of the reference, or is, bit for bit,
/// what the tensor cores' own arithmetic gives; the latter may be a few only, and are reported.
inline void expect_verified_or_modelled(const BlockwiseFp8GemmArguments& gemm,
                                        const hopper::GemmKernel& kernel,
                                        const DeviceReference& reference) {
  const auto* d = static_cast<const Bf16*>(gemm.d);
  const DeviceComparison comparison = compare_on_device(d, gemm.ldd, reference);
  EXPECT_EQ(comparison.elements, gemm.m * gemm.n);
  if (comparison.verified()) return;
  const ModelComparison found =
      compare_with_model(d, gemm.ldd, model_of_kernel(gemm, kernel), reference);
  EXPECT_EQ(found.unexplained, 0) << found.describe() << "\n" << comparison.describe();
  EXPECT_LE(found.outside, hopper::most_outside(found.elements)) << found.describe();
  std::printf("%lld x %lld x %lld: %s\n", static_cast<long long>(gemm.m),
              static_cast<long long>(gemm.n), static_cast<long long>(gemm.k),
              found.describe().c_str());
}

}  // namespace bw
