/// \file
/// Every configuration, over shapes with edges in all dimensions, against float64 and against the
/// model of the tensor cores.
#include <map>
#include <string>

#include "common/host/device_attribute.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

struct Case {
  int64_t m, n, k;
  float beta;
};

std::string name_of(const Case& c) {
  return std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k) +
         ", beta " + std::to_string(c.beta);
}

/// Single rows and columns of tiles and their edges, the shortest K and one that ends inside a
/// K block, K blocks in odd and even numbers, N that no slice divides, and more tiles than the
/// device has multiprocessors.
const std::vector<Case> kCases = {
    {128, 128, 128, 0},      {1, 8, 16, 1},         {1, 4096, 7168, 0},    {8, 264, 128, 0.5f},
    {64, 2112, 7232, 1},     {129, 136, 272, 0.5f}, {257, 1000, 1040, 1},  {127, 120, 112, -2},
    {300, 8, 2064, 1},       {1000, 576, 7168, 0},  {65, 1032, 384, 0.5f}, {513, 3080, 16, 1},
    {4096, 4608, 528, 0.5f}, {2500, 7176, 256, 0},  {200, 200, 4112, 1},   {5000, 40, 1152, 0.5f},
    {40, 5000, 1152, 0.5f},
};
const std::vector<Case> kSimulatedCases = {
    {128, 128, 128, 0},    {1, 8, 16, 1},        {1, 264, 1040, 0},   {8, 264, 128, 0.5f},
    {129, 136, 272, 0.5f}, {257, 264, 144, 1},   {127, 120, 112, -2}, {300, 8, 528, 1},
    {65, 392, 384, 0.5f},  {40, 1096, 144, 0.5f}};

class Shapes : public HopperTest {};

TEST_F(Shapes, EveryConfigurationAndTheChosenOneAreVerified) {
  size_t number_of_case = 0;
  for (const Case& c : by_device(kCases, kSimulatedCases)) {
    SCOPED_TRACE(name_of(c));
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/c.m + c.k, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    for_configs_of_case(number_of_case++, [&](const hopper::GemmKernel& kernel) {
      on_device.poison_d();
      hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      expect_verified_or_modelled(on_device.arguments(), kernel, reference);
    });
    SCOPED_TRACE("the chosen configuration");
    on_device.poison_d();
    hopper::blockwise_fp8_gemm(on_device.arguments(), kDefaultStream);
    const hopper::GemmChoice chosen = hopper::choose_gemm(
        c.m, c.n, c.k, device_attribute(cudaDevAttrMultiProcessorCount), hopper::Workspace::kNone);
    expect_verified_or_modelled(on_device.arguments(), *chosen.kernel, reference);
  }
}

/// Shapes of whole tiles, of tiles that are all split into the same parts, of tiles split at places
/// of their own, and of both kinds in one launch.
const std::vector<Case> kModelledCases = {
    {2500, 7176, 256, 0},   {2500, 7176, 128, 0},     {1000, 576, 7168, 0},
    {257, 1000, 1040, 1},   {65, 1032, 384, 0.5f},    {8, 264, 16, -2},
    {300, 520, 7184, 0.5f}, {2000, 2056, 3600, 0},    {4096, 2112, 4096, 0},
    {1, 8, 4000, 1},        {2100, 1904, 2320, 0.5f}, {1000, 1160, 3088, 0.5f}};
const std::vector<Case> kSimulatedModelledCases = {{130, 264, 144, 0},   {257, 72, 272, 1},
                                                   {8, 264, 16, -2},     {1, 8, 4000, 1},
                                                   {9, 328, 3088, 0.5f}, {16, 1096, 3088, 0}};

/// How a kernel has split tiles in the shapes that it has computed so far.
struct SplitsSeen {
  bool alike = false;         ///< all into the same parts: each with helpers of its own
  bool differently = false;   ///< at places of their own
  bool beside_whole = false;  ///< after whole tiles

  void add(const hopper::StreamKSchedule& schedule) {
    if (schedule.split == 0) return;
    const uint32_t most = hopper::StreamKSchedule::kMostHelpersOfPiece * schedule.split;
    (schedule.helpers == most ? alike : differently) = true;
    beside_whole |= schedule.whole > 0;
  }
};

TEST_F(Shapes, EveryElementIsBitForBitWhatTheTensorCoresGive) {
  std::map<const hopper::GemmKernel*, SplitsSeen> splits;
  size_t number_of_case = 0;
  for (const Case& c : by_device(kModelledCases, kSimulatedModelledCases)) {
    SCOPED_TRACE(name_of(c));
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/c.m + c.k, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    for_every_config([&](const hopper::GemmKernel& kernel) {
      constexpr int64_t kLongK = 3000;  // of the shapes for kernels that split tiles
      if (is_simulated() && c.k > kLongK && !kernel.traits.stream_k) return;
      // Each way to split tiles is that of a few cases.
      if (!kernel.traits.stream_k && !takes_part(number_of_case, kernel)) return;
      splits[&kernel].add(schedule_of(on_device.arguments(), kernel));
      const DeviceBuffer<Bf16> model = model_of_kernel(on_device.arguments(), kernel);
      on_device.poison_d();
      hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      const ModelComparison found = compare_with_model(
          static_cast<const Bf16*>(on_device.arguments().d), c.n, model, reference);
      EXPECT_EQ(found.different, 0) << found.describe();
      if (found.outside > 0) {
        std::printf("%s, %s: %s\n", name_of(c).c_str(), kernel.name, found.describe().c_str());
      }
    });
    ++number_of_case;
  }
  for_every_config([&](const hopper::GemmKernel& kernel) {
    EXPECT_EQ(splits[&kernel].alike, kernel.traits.stream_k);
    EXPECT_EQ(splits[&kernel].differently, kernel.traits.stream_k);
    EXPECT_EQ(splits[&kernel].beside_whole, kernel.traits.stream_k);
  });
}

TEST_F(Shapes, TheModelTellsTheOrderOfTheSum) {
  // The comparison above would see another split of K.
  if (is_simulated()) {
    GTEST_SKIP() << "one element in ten thousand tells: the models of so many take a GPU";
  }
  const BlockwiseProblem problem =
      make_blockwise_problem(300, 520, 7184, 0.5f, /*seed=*/1, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const DeviceReference reference = float64_reference(on_device.arguments());
  const DeviceBuffer<Bf16> unsplit = tensor_core_model(on_device.arguments());
  for_every_config([&](const hopper::GemmKernel& kernel) {
    const DeviceBuffer<Bf16> model = model_of_kernel(on_device.arguments(), kernel);
    const ModelComparison found = compare_with_model(model.data(), problem.n, unsplit, reference);
    const bool splits = kernel.traits.split_k > 1 || splits_tiles(on_device.arguments(), kernel);
    EXPECT_EQ(found.different > 0, splits) << found.describe();
  });
}

class Large : public HopperTest {};

TEST_F(Large, TilesInSeveralRoundsOfEveryRing) {
  const Case c = by_device<Case>({8192, 7168, 2048, 0.5f}, {520, 520, 656, 0.5f});
  const BlockwiseProblem problem =
      make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/3, Fill::kNormal);
  DeviceProblem on_device(problem);
  const DeviceReference reference = float64_reference(on_device.arguments());
  for_every_config([&](const hopper::GemmKernel& kernel) {
    on_device.poison_d();
    hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
    expect_verified(on_device.arguments().d, reference);
  });
}

class Positions : public HopperTest {};

TEST_F(Positions, TheResidualIsExact) {
  const std::vector<Case> on_gpu = {{128, 128, 128, 0},   {1000, 576, 320, 1},
                                    {257, 264, 16, 0.5f}, {300, 520, 32, 1},
                                    {1, 8, 16, 1},        {4100, 4104, 128, 0.5f}};
  const std::vector<Case> simulated = {{128, 128, 128, 0}, {257, 264, 16, 0.5f}, {1, 8, 16, 1}};
  for (const Case& c : by_device(on_gpu, simulated)) {
    SCOPED_TRACE(name_of(c));
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/1, Fill::kPositionC);
    DeviceProblem on_device(problem);
    for_every_config([&](const hopper::GemmKernel& kernel) {
      const Comparison comparison = compare_with_residual(run_once(on_device, kernel), problem);
      EXPECT_TRUE(comparison.verified())
          << comparison.bad_elements << " of " << comparison.elements << " elements differ";
    });
  }
}

class Reference : public HopperTest {};

TEST_F(Reference, TheDevicesAgreesWithTheHosts) {
  for (const Case& c : {Case{129, 136, 272, 0.5f}, Case{65, 264, 1040, 0}, Case{1, 8, 16, 1}}) {
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/2, Fill::kNormal);
    const DeviceProblem on_device(problem);
    const DeviceReference of_device = float64_reference(on_device.arguments());
    const BlockwiseReference of_host = blockwise_reference(problem);
    const std::vector<double> d = of_device.d.download();
    const std::vector<float> magnitude = of_device.magnitude.download();
    for (size_t i = 0; i < d.size(); ++i) {
      ASSERT_NEAR(d[i], of_host.d[i], 1e-12 * of_host.magnitude[i]) << i;
      ASSERT_NEAR(magnitude[i], of_host.magnitude[i], 1e-4 * of_host.magnitude[i]) << i;
    }
  }
}

TEST_F(Reference, TheComparisonSeesOneWrongElementAndPoison) {
  const BlockwiseProblem problem =
      make_blockwise_problem(100, 136, 272, 0.5f, /*seed=*/2, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const DeviceReference reference = float64_reference(on_device.arguments());
  std::vector<Bf16> d;
  for (const double value : reference.d.download()) {
    d.push_back(to_bf16(static_cast<float>(value)));
  }
  const auto compare = [&] {
    const DeviceBuffer<Bf16> copy(d);
    return compare_on_device(copy.data(), problem.n, reference);
  };
  EXPECT_TRUE(compare().verified()) << compare().describe();
  EXPECT_LE(compare().worst_share, 1);
  constexpr size_t kPlace = 57 * 136 + 11;
  d[kPlace].bits = static_cast<uint16_t>(d[kPlace].bits ^ 0x8000);  // the other sign
  EXPECT_EQ(compare().bad_elements, 1);
  EXPECT_EQ(compare().first_bad_row, 57);
  EXPECT_EQ(compare().first_bad_column, 11);
  d[5].bits = 0xffff;
  EXPECT_EQ(compare().bad_elements, 2);
}

}  // namespace
}  // namespace bw
