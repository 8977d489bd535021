/// \file
/// The memory by which clusters hand over partial sums, seen from outside.
#include <algorithm>
#include <tuple>

#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

using hopper::PreparedGemm;

class Workspace : public HopperTest {};

/// A workspace between poisoned guards.
class GuardedWorkspace {
  static constexpr size_t kGuard = 4096;  // bytes

 public:
  explicit GuardedWorkspace(PreparedGemm& prepared)
      : bytes_(hopper::workspace_bytes(prepared)), memory_(kGuard + bytes_ + kGuard) {
    memory_.fill_bytes(kPoisonByte);
    hopper::attach_workspace(prepared, memory_.data() + kGuard, kDefaultStream);
    const auto* flags =
        reinterpret_cast<const uint8_t*>(prepared.arguments.stream_k.workspace.flags);
    first_flag_ = flags - memory_.data();
  }

  /// Makes NaNs of all partial sums: adding one before it is there gives a NaN.
  void poison_partial_sums() {
    check_cuda(cudaMemset(memory_.data() + kGuard, kPoisonByte, first_flag_ - kGuard), "poison");
  }

  /// Fails unless all flags are clear, and nothing outside was written.
  void expect_ready_and_guarded() const {
    const std::vector<uint8_t> all = memory_.download();
    const auto is_poison = [](uint8_t byte) { return byte == kPoisonByte; };
    EXPECT_TRUE(std::all_of(all.begin(), all.begin() + kGuard, is_poison));
    EXPECT_TRUE(std::all_of(all.end() - kGuard, all.end(), is_poison));
    EXPECT_TRUE(std::all_of(all.begin() + static_cast<int64_t>(first_flag_), all.end() - kGuard,
                            [](uint8_t byte) { return byte == 0; }))
        << "a flag is set";
  }

 private:
  size_t bytes_;
  DeviceBuffer<uint8_t> memory_;
  size_t first_flag_ = 0;
};

TEST_F(Workspace, IsReadyForTheNextLaunchAndKeepsToItself) {
  const int launches = by_device(10, 3);
  using SomeShapes = std::vector<std::tuple<int64_t, int64_t, int64_t, float>>;
  size_t number_of_shape = 0;
  for (const auto& [m, n, k, beta] : by_device<SomeShapes>(
           {{300, 520, 7184, 0.5f}, {1000, 1160, 3088, 0.0f}, {2000, 2056, 3600, 0.5f}},
           {{16, 264, 4000, 0.5f}, {16, 328, 3088, 0.0f}})) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, beta, /*seed=*/30, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    for_configs_in_turn(number_of_shape++, [&](const hopper::GemmKernel& kernel) {
      if (!kernel.traits.stream_k) return;
      PreparedGemm prepared = hopper::prepare_gemm(on_device.arguments(), kernel);
      ASSERT_GT(hopper::workspace_bytes(prepared), 0u) << "nothing is split";
      GuardedWorkspace workspace(prepared);
      workspace.expect_ready_and_guarded();
      const DeviceBuffer<Bf16> model = model_of_kernel(on_device.arguments(), kernel);
      for (int launch = 0; launch < launches; ++launch) {
        on_device.poison_d();
        workspace.poison_partial_sums();
        hopper::launch_gemm(prepared, kDefaultStream);
        const ModelComparison found = compare_with_model(
            static_cast<const Bf16*>(on_device.arguments().d), problem.n, model, reference);
        ASSERT_EQ(found.different, 0) << "launch " << launch << ": " << found.describe();
        workspace.expect_ready_and_guarded();
      }
    });
  }
}

TEST_F(Workspace, IsNeededOnlyWhereTilesAreSplit) {
  using SomeShapes = std::vector<std::tuple<int64_t, int64_t, int64_t>>;
  for (const auto& [m, n, k] :
       by_device<SomeShapes>({{300, 520, 7184}, {300, 520, 128}, {64, 2112, 7168}},
                             {{16, 264, 4000}, {16, 264, 128}, {16, 2056, 3088}})) {
    const DeviceProblem on_device(make_blockwise_problem(m, n, k, 0, /*seed=*/1, Fill::kNormal));
    for_every_config([&](const hopper::GemmKernel& kernel) {
      const PreparedGemm prepared = hopper::prepare_gemm(on_device.arguments(), kernel);
      EXPECT_EQ(hopper::workspace_bytes(prepared) > 0, splits_tiles(on_device.arguments(), kernel));
      if (!kernel.traits.stream_k) {
        EXPECT_EQ(hopper::workspace_bytes(prepared), 0u);
      }
    });
  }
}

}  // namespace
}  // namespace bw
