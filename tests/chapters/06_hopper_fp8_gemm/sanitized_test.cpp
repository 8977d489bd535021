/// \file
/// Small problems for compute-sanitizer (sanitize.sh): every configuration, with and without a
/// residual, edges in all dimensions, more K blocks than a ring has stages, more than one tile. A
/// test for each configuration, so that processes can share them (GoogleTest's shards).
#include <string>
#include <tuple>
#include <vector>

#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

/// The names of all configurations, or of those that divide tiles along K among clusters.
std::vector<std::string> config_names(bool only_stream_k) {
  std::vector<std::string> names;
  for (const hopper::GemmKernel& kernel : hopper::gemm_kernels()) {
    if (kernel.traits.stream_k || !only_stream_k) names.push_back(kernel.name);
  }
  return names;
}

std::string name_of_parameter(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

/// A test of one configuration.
class Sanitized : public HopperTest, public testing::WithParamInterface<std::string> {
 protected:
  static const hopper::GemmKernel& kernel() { return hopper::find_gemm_kernel(GetParam()); }
};
using SanitizedStreamK = Sanitized;

TEST_P(Sanitized, SmallShapes) {
  struct Case {
    int64_t m, n, k;
    float beta;
  };
  for (const Case& c :
       {Case{129, 136, 272, 0.5f}, Case{300, 264, 1168, 0}, Case{8, 264, 1040, 1}}) {
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/4, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    on_device.poison_d();
    hopper::blockwise_fp8_gemm(on_device.arguments(), kernel(), kDefaultStream);
    expect_verified(on_device.arguments().d, reference);
  }
}

TEST_P(SanitizedStreamK, DividedTiles) {
  // One tile with its helpers; then whole tiles and split ones in the same launch.
  for (const auto& [m, n, k, beta] :
       {std::tuple{129, 136, 2064, 0.5f}, std::tuple{1999, 2056, 3600, 0.0f}}) {
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, beta, /*seed=*/5, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    EXPECT_TRUE(splits_tiles(on_device.arguments(), kernel()));
    const hopper::GemmPlan plan(on_device.arguments(), kernel());
    for (int launch = 0; launch < 2; ++launch) {
      on_device.poison_d();
      plan.launch(kDefaultStream);
      expect_verified(on_device.arguments().d, reference);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Sanitized, testing::ValuesIn(config_names(false)), name_of_parameter);
INSTANTIATE_TEST_SUITE_P(Of, SanitizedStreamK, testing::ValuesIn(config_names(true)),
                         name_of_parameter);

}  // namespace
}  // namespace bw
