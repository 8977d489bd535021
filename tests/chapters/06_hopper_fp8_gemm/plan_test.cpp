/// \file
/// A plan: prepared once, launched often.
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "common/host/device_attribute.hpp"
#include "common/host/error.hpp"
#include "common/host/executable_graph.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

using hopper::GemmPlan;

class Plan : public HopperTest {};

using Size = ProblemsInStreams::Size;

/// A problem whose pieces the kernels with stream_k split.
BlockwiseProblem split_problem(float beta, uint64_t seed) {
  const Size size = by_device<Size>({1000, 1160, 3088}, {24, 328, 3088});
  return make_blockwise_problem(size.m, size.n, size.k, beta, seed, Fill::kNormal);
}

std::vector<Bf16> launch_once(DeviceProblem& on_device, const GemmPlan& plan) {
  on_device.poison_d();
  plan.launch(kDefaultStream);
  return on_device.download_d<Bf16>();
}

TEST_F(Plan, LaunchesAreBitIdentical) {
  const int launches = by_device(20, 3);
  const std::vector<Size> on_gpu = {{1000, 1160, 3088}, {2000, 2056, 3600}};
  const std::vector<Size> simulated = {{24, 328, 3088}};
  for (const auto& [m, n, k] : by_device(on_gpu, simulated)) {
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, 0.5f, /*seed=*/8, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    for_configs_in_turn(/*turn=*/1, [&](const hopper::GemmKernel& kernel) {
      EXPECT_EQ(splits_tiles(on_device.arguments(), kernel), kernel.traits.stream_k);
      const GemmPlan plan(on_device.arguments(), kernel);
      const std::vector<Bf16> first = launch_once(on_device, plan);
      expect_verified_or_modelled(on_device.arguments(), kernel, reference);
      for (int launch = 1; launch < launches; ++launch) {
        ASSERT_TRUE(same_bits(launch_once(on_device, plan), first))
            << "launch " << launch << " differs from the first";
      }
      // One after the other, with nothing between them.
      on_device.poison_d();
      for (int launch = 0; launch < launches; ++launch) plan.launch(kDefaultStream);
      ASSERT_TRUE(same_bits(on_device.download_d<Bf16>(), first));
      // The call gives the same bits.
      ASSERT_TRUE(same_bits(run_once(on_device, kernel), first));
    });
  }
}

TEST_F(Plan, HasTheChosenConfiguration) {
  using SomeShapes = std::vector<std::tuple<int64_t, int64_t, int64_t, float>>;
  for (const auto& [m, n, k, beta] : by_device<SomeShapes>({{64, 2112, 7168, 0.0f},
                                                            {128, 512, 512, 1.0f},
                                                            {4096, 2112, 7168, 0.0f},
                                                            {1000, 1160, 512, 0.5f}},
                                                           {{16, 264, 1040, 0.0f},
                                                            {128, 264, 272, 1.0f},
                                                            {520, 72, 1040, 0.0f},
                                                            {600, 136, 144, 0.5f}})) {
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, beta, /*seed=*/9, Fill::kNormal);
    DeviceProblem on_device(problem);
    const hopper::GemmChoice expected = hopper::choose_gemm(
        m, n, k, device_attribute(cudaDevAttrMultiProcessorCount), hopper::Workspace::kOfPlan);
    const GemmPlan plan(on_device.arguments());
    EXPECT_EQ(plan.choice(), expected) << plan.choice().name() << ", not " << expected.name();
    launch_once(on_device, plan);
    expect_verified_or_modelled(on_device.arguments(), *expected.kernel,
                                float64_reference(on_device.arguments()));
  }
}

TEST_F(Plan, GivesTheSameBitsInBothLaunchOrders) {
  const Size size = by_device<Size>({300, 520, 7168}, {24, 328, 1040});
  const BlockwiseProblem problem =
      make_blockwise_problem(size.m, size.n, size.k, 0.5f, /*seed=*/12, Fill::kNormal);
  DeviceProblem on_device(problem);
  for_every_config([&](const hopper::GemmKernel& kernel) {
    if (!hopper::has_launch_orders(kernel)) return;
    const hopper::GemmChoice choice(kernel, hopper::LaunchOrder::kGpcByGpc);
    const GemmPlan across(on_device.arguments(), kernel), by_gpc(on_device.arguments(), choice);
    EXPECT_EQ(by_gpc.choice(), choice);
    EXPECT_EQ(launch_once(on_device, by_gpc), launch_once(on_device, across)) << choice.name();
  });
}

TEST_F(Plan, Moves) {
  const Size size = by_device<Size>({300, 520, 7168}, {24, 328, 3088});
  const BlockwiseProblem problem =
      make_blockwise_problem(size.m, size.n, size.k, 0.5f, /*seed=*/10, Fill::kNormal);
  const Size other_size = by_device<Size>({200, 264, 4096}, {16, 136, 2064});
  const BlockwiseProblem other_problem = make_blockwise_problem(
      other_size.m, other_size.n, other_size.k, 0, /*seed=*/11, Fill::kNormal);
  DeviceProblem on_device(problem), other(other_problem);
  for_configs_in_turn(/*turn=*/2, [&](const hopper::GemmKernel& kernel) {
    const std::vector<Bf16> expected = run_once(on_device, kernel);
    GemmPlan first(on_device.arguments(), kernel);
    GemmPlan moved(std::move(first));
    EXPECT_EQ(&moved.kernel(), &kernel);
    EXPECT_TRUE(same_bits(launch_once(on_device, moved), expected));
    // Over a plan with a workspace of its own, which has been launched.
    GemmPlan target(other.arguments(), kernel);
    target.launch(kDefaultStream);
    target = std::move(moved);
    EXPECT_EQ(&target.kernel(), &kernel);
    EXPECT_TRUE(same_bits(launch_once(on_device, target), expected));
    // As elements of a vector that grows.
    std::vector<GemmPlan> plans;
    plans.push_back(std::move(target));
    for (int i = 0; i < 4; ++i) plans.emplace_back(other.arguments(), kernel);
    EXPECT_TRUE(same_bits(launch_once(on_device, plans.front()), expected));
  });
}

TEST_F(Plan, SeesWhatHasChangedBetweenLaunches) {
  constexpr float kBeta = 0.5f;
  constexpr int kProblems = 3;
  std::vector<BlockwiseProblem> problems;
  problems.reserve(kProblems);
  for (int i = 0; i < kProblems; ++i) problems.push_back(split_problem(kBeta, /*seed=*/20 + i));
  const DeviceProblem on_device(problems.front());
  DeviceBuffer<Fp8E4m3> a(problems.front().a.values);
  DeviceBuffer<float> a_scales(problems.front().a.scales), b_scales(problems.front().b.scales);
  DeviceBuffer<Bf16> c(problems.front().c);
  BlockwiseFp8GemmArguments arguments = on_device.arguments();
  arguments.a = a.data();
  arguments.a_scales = a_scales.data();
  arguments.b_scales = b_scales.data();
  arguments.c = c.data();
  const auto upload = [&](const BlockwiseProblem& problem) {
    a.upload(problem.a.values);
    a_scales.upload(problem.a.scales);
    b_scales.upload(problem.b.scales);
    c.upload(problem.c);
  };
  std::vector<DeviceReference> references;
  references.reserve(kProblems);
  for (const BlockwiseProblem& problem : problems) {
    upload(problem);
    references.push_back(float64_reference(arguments));
  }
  for_configs_in_turn(/*turn=*/0, [&](const hopper::GemmKernel& kernel) {
    const GemmPlan plan(arguments, kernel);
    for (int i = 0; i < kProblems; ++i) {
      // D isn't poisoned: it holds the result of the launch before.
      upload(problems[i]);
      plan.launch(kDefaultStream);
      expect_verified(arguments.d, references[i]);
    }
  });
}

TEST_F(Plan, LaunchesMayBeCapturedIntoAGraph) {
  const BlockwiseProblem problem = split_problem(/*beta=*/0.5f, /*seed=*/12);
  DeviceProblem on_device(problem);
  const Stream stream;
  for_configs_in_turn(/*turn=*/1, [&](const hopper::GemmKernel& kernel) {
    EXPECT_EQ(splits_tiles(on_device.arguments(), kernel), kernel.traits.stream_k);
    const GemmPlan plan(on_device.arguments(), kernel);
    const std::vector<Bf16> expected = launch_once(on_device, plan);
    const ExecutableGraph graph([&](cudaStream_t captured) {
      plan.launch(captured);
      plan.launch(captured);
    });
    on_device.poison_d();
    check_cuda(cudaDeviceSynchronize(), "poison");
    EXPECT_FALSE(same_bits(on_device.download_d<Bf16>(), expected)) << "was launched, not captured";
    for (int launch = 0; launch < 2; ++launch) graph.launch(stream.get());
    check_cuda(cudaDeviceSynchronize(), "finish the graph");
    EXPECT_TRUE(same_bits(on_device.download_d<Bf16>(), expected));
  });
}

TEST_F(Plan, LaunchesInSeveralStreamsByAsManyThreadsRunOneAfterTheOther) {
  constexpr int kThreads = 4;
  const int launches = by_device(10, 2);
  const BlockwiseProblem problem = split_problem(/*beta=*/0.5f, /*seed=*/13);
  DeviceProblem on_device(problem);
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  for_configs_in_turn(/*turn=*/2, [&](const hopper::GemmKernel& kernel) {
    EXPECT_EQ(splits_tiles(on_device.arguments(), kernel), kernel.traits.stream_k);
    const GemmPlan plan(on_device.arguments(), kernel);
    const std::vector<Bf16> expected = launch_once(on_device, plan);
    on_device.poison_d();
    check_cuda(cudaDeviceSynchronize(), "poison");
    const std::vector<Stream> streams(kThreads);
    std::vector<std::string> errors(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        try {
          check_cuda(cudaSetDevice(device), "use the device");
          for (int launch = 0; launch < launches; ++launch) plan.launch(streams[i].get());
        } catch (const Error& error) {
          errors[i] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    check_cuda(cudaDeviceSynchronize(), "finish the launches");
    EXPECT_TRUE(same_bits(on_device.download_d<Bf16>(), expected));
  });
}

TEST_F(Plan, OutputMayReplaceTheResidualAgainAndAgain) {
  // D = A · Bᵀ + D, three times.
  const Size size = by_device<Size>({1000, 1160, 3088}, {16, 72, 2064});
  const BlockwiseProblem problem =
      make_blockwise_problem(size.m, size.n, size.k, 1.0f, /*seed=*/6, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const DeviceReference of_first = float64_reference(on_device.arguments());
  for_configs_in_turn(/*turn=*/0, [&](const hopper::GemmKernel& kernel) {
    DeviceBuffer<Bf16> c_and_d(problem.c);
    BlockwiseFp8GemmArguments arguments = on_device.arguments();
    arguments.c = c_and_d.data();
    arguments.d = c_and_d.data();
    const GemmPlan plan(arguments, kernel);
    plan.launch(kDefaultStream);
    expect_verified(arguments.d, of_first);
    for (int launch = 1; launch < 3; ++launch) {
      const DeviceReference reference = float64_reference(arguments);
      plan.launch(kDefaultStream);
      expect_verified(arguments.d, reference);
    }
  });
}

TEST_F(Plan, PlansInSeveralStreamsDoNotDisturbEachOther) {
  const int rounds = by_device(10, 1);
  using Sizes = std::vector<ProblemsInStreams::Size>;
  ProblemsInStreams problems(
      by_device<Sizes>({{200, 1000, 4096}, {420, 1136, 4624}, {640, 1272, 5152}, {860, 1408, 5680}},
                       {{16, 72, 2064}, {24, 104, 2192}, {32, 136, 2320}, {40, 168, 2448}}));
  const auto launch_all = [&](const std::vector<GemmPlan>& plans) {
    problems.expect_undisturbed(rounds,
                                [&](size_t i, cudaStream_t stream) { plans[i].launch(stream); });
  };
  for_configs_in_turn(/*turn=*/1, [&](const hopper::GemmKernel& kernel) {
    std::vector<GemmPlan> plans;
    for (size_t i = 0; i < problems.count(); ++i) {
      EXPECT_EQ(splits_tiles(problems.arguments(i), kernel), kernel.traits.stream_k);
      plans.emplace_back(problems.arguments(i), kernel);
    }
    launch_all(plans);
  });
  SCOPED_TRACE("a configuration of its own in each stream");
  const std::vector<const hopper::GemmKernel*> kernels = tested_configs();
  // In the simulator each of them is in one set; the slow test takes each in every stream.
  const size_t step = takes_every_pair() ? 1 : problems.count();
  for (size_t first = 0; first < kernels.size(); first += step) {
    std::vector<GemmPlan> plans;
    for (size_t i = 0; i < problems.count(); ++i) {
      plans.emplace_back(problems.arguments(i), *kernels[(first + i) % kernels.size()]);
    }
    launch_all(plans);
  }
}

}  // namespace
}  // namespace bw
