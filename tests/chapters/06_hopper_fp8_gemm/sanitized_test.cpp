/// \file
/// Small problems for compute-sanitizer (sanitize.sh): every configuration, with and without a
/// residual, edges in all dimensions, more K blocks than a ring has stages, more than one tile.
#include <tuple>

#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

class Sanitized : public HopperTest {
 protected:
  void SetUp() override {
    HopperTest::SetUp();
    if (is_simulated()) GTEST_SKIP() << "compute-sanitizer looks at a GPU";
  }
};

TEST_F(Sanitized, SmallShapesOfEveryConfiguration) {
  struct Case {
    int64_t m, n, k;
    float beta;
  };
  for (const Case& c :
       {Case{129, 136, 272, 0.5f}, Case{300, 520, 1168, 0}, Case{8, 264, 1040, 1}}) {
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/4, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    for_every_config([&](const hopper::GemmKernel& kernel) {
      on_device.poison_d();
      hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      expect_verified(on_device.arguments().d, reference);
    });
  }
}

TEST_F(Sanitized, TilesThatAreSplitAlongK) {
  // One tile with its helpers; then whole tiles and split ones in the same launch.
  for (const auto& [m, n, k, beta] :
       {std::tuple{129, 136, 2064, 0.5f}, std::tuple{1999, 2056, 3600, 0.0f}}) {
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, beta, /*seed=*/5, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    for_every_config([&](const hopper::GemmKernel& kernel) {
      if (!kernel.traits.stream_k) return;
      EXPECT_TRUE(splits_tiles(on_device.arguments(), kernel));
      const hopper::GemmPlan plan(on_device.arguments(), kernel);
      for (int launch = 0; launch < 2; ++launch) {
        on_device.poison_d();
        plan.launch(kDefaultStream);
        expect_verified(on_device.arguments().d, reference);
      }
    });
  }
}

}  // namespace
}  // namespace bw
