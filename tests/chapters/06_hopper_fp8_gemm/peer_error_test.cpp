// The error of every configuration against cuBLASLt's on the same inputs.
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"
#include "tests/gpu_reference/cublaslt_matmul.hpp"

namespace bw {
namespace {

class PeerError : public HopperTest {};

TEST_F(PeerError, IsNoWorseThanCublasLts) {
  constexpr double kMostOfPeer = 1.02;
  struct Case {
    int64_t m, n, k;
    float beta;
  };
  for (const Case& c :
       {Case{1024, 1024, 2048, 0}, Case{4096, 2112, 7168, 0}, Case{64, 2112, 7168, 0},
        Case{128, 7168, 16384, 0}, Case{2048, 2048, 4096, 1}}) {
    SCOPED_TRACE(testing::PrintToString(c.m) + " x " + testing::PrintToString(c.n) + " x " +
                 testing::PrintToString(c.k));
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, /*seed=*/9, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    DeviceBuffer<Bf16> peer_d(c.m * c.n);
    const CublasLtMatmul peer(on_device.arguments(), peer_d.data());
    ASSERT_GT(peer.algorithms(), 0) << "cuBLASLt has no algorithm for this shape";
    peer.run(0, kDefaultStream);
    const DeviceComparison of_peer = compare_on_device(peer_d.data(), c.n, reference);
    ASSERT_TRUE(of_peer.verified()) << "cuBLASLt: " << of_peer.describe();
    for_every_config([&](const hopper::GemmKernel& kernel) {
      on_device.poison_d();
      hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      const DeviceComparison ours =
          compare_on_device(static_cast<const Bf16*>(on_device.arguments().d), c.n, reference);
      EXPECT_TRUE(ours.verified()) << ours.describe();
      EXPECT_LE(ours.relative_frobenius_error, kMostOfPeer * of_peer.relative_frobenius_error);
    });
  }
}

}  // namespace
}  // namespace bw
