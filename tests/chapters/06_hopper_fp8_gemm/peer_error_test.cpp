/// \file
/// The error of every configuration compared with cuBLASLt's on the same inputs.
#include <cmath>

#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"
#include "tests/gpu_reference/cublaslt_matmul.hpp"

namespace bw {
namespace {

/// P(X >= count) of a binomial X of `total` fair trials.
double upper_tail(int64_t count, int64_t total) {
  double probability = 0;
  for (int64_t k = count; k <= total; ++k) {
    const auto log_factorial = [](int64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
    probability += std::exp(log_factorial(total) - log_factorial(k) - log_factorial(total - k) -
                            static_cast<double>(total) * std::log(2.0));
  }
  return probability;
}

/// Fails if `ours` exceeds the peer's count by more than two samples of the same mean can:
/// of two Poisson counts with one mean each event is ours with a probability of one half.
void expect_no_more(int64_t ours, int64_t peers) {
  constexpr double kLeastLikely = 1e-4;
  EXPECT_GE(upper_tail(ours, ours + peers), kLeastLikely)
      << ours << " of our elements are off by more than is allowed, " << peers << " of cuBLASLt's";
}

TEST(CountsOfElements, AreComparedAsPoissonCounts) {
  EXPECT_NEAR(upper_tail(0, 7), 1, 1e-12);
  EXPECT_NEAR(upper_tail(3, 3), 0.125, 1e-12);
  EXPECT_NEAR(upper_tail(2, 3), 0.5, 1e-12);
  expect_no_more(1, 0);
  expect_no_more(3, 9);
  EXPECT_LT(upper_tail(14, 14), 1e-4);
}

class PeerError : public HopperTest {};

TEST_F(PeerError, IsNoWorseThanCublasLts) {
  constexpr double kMostOfPeer = 1.02;
  // On top of what is allowed, a fifth of the accumulation's part of it: more elements to count.
  constexpr double kStrictAccumulationError = kHopperAccumulationError / 5;
  struct Case {
    int64_t m, n, k;
    float beta;
  };
  for (const Case& c :
       {Case{1024, 1024, 2048, 0}, Case{4096, 2112, 7168, 0}, Case{64, 2112, 7168, 0},
        Case{128, 7168, 16384, 0}, Case{2048, 2048, 4096, 1}, Case{2500, 7176, 256, 0},
        Case{4096, 7168, 128, 0}}) {
    SCOPED_TRACE(testing::PrintToString(c.m) + " x " + testing::PrintToString(c.n) + " x " +
                 testing::PrintToString(c.k));
    const uint64_t seed = static_cast<uint64_t>(c.m + c.k);
    const BlockwiseProblem problem =
        make_blockwise_problem(c.m, c.n, c.k, c.beta, seed, Fill::kNormal);
    DeviceProblem on_device(problem);
    const DeviceReference reference = float64_reference(on_device.arguments());
    DeviceBuffer<Bf16> peer_d(c.m * c.n);
    peer_d.fill_bytes(kPoisonByte);
    const CublasLtMatmul peer(on_device.arguments(), peer_d.data());
    ASSERT_GT(peer.algorithms(), 0) << "cuBLASLt has no algorithm for this shape";
    peer.run(0, kDefaultStream);
    const DeviceBuffer<Bf16> model = tensor_core_model(on_device.arguments());
    const auto against_model = [&](const Bf16* d, double accumulation_error) {
      return compare_with_model(d, c.n, model, reference, accumulation_error);
    };
    const DeviceComparison of_peer = compare_on_device(peer_d.data(), c.n, reference);
    const ModelComparison peer_allowed = against_model(peer_d.data(), kHopperAccumulationError);
    const ModelComparison peer_strict = against_model(peer_d.data(), kStrictAccumulationError);
    ASSERT_LE(of_peer.bad_elements, hopper::most_outside(of_peer.elements))
        << "cuBLASLt: " << of_peer.describe();
    const auto print = [&](const char* name, const DeviceComparison& comparison,
                           const ModelComparison& allowed, const ModelComparison& strict) {
      std::printf(
          "%lld x %lld x %lld, %s: off by more than 1e-4: %lld, than 2e-5: %lld; not the "
          "model's bits: %lld; relative Frobenius error %.7f\n",
          static_cast<long long>(c.m), static_cast<long long>(c.n), static_cast<long long>(c.k),
          name, static_cast<long long>(allowed.outside), static_cast<long long>(strict.outside),
          static_cast<long long>(allowed.different), comparison.relative_frobenius_error);
    };
    print("cuBLASLt", of_peer, peer_allowed, peer_strict);
    for_every_config([&](const hopper::GemmKernel& kernel) {
      on_device.poison_d();
      hopper::blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
      const auto* d = static_cast<const Bf16*>(on_device.arguments().d);
      const DeviceComparison ours = compare_on_device(d, c.n, reference);
      expect_verified_or_modelled(on_device.arguments(), kernel, reference);
      EXPECT_LE(ours.relative_frobenius_error, kMostOfPeer * of_peer.relative_frobenius_error);
      const ModelComparison allowed = against_model(d, kHopperAccumulationError);
      const ModelComparison strict = against_model(d, kStrictAccumulationError);
      expect_no_more(allowed.outside, peer_allowed.outside);
      expect_no_more(strict.outside, peer_strict.outside);
      print(kernel.name, ours, allowed, strict);
    });
  }
}

}  // namespace
}  // namespace bw
