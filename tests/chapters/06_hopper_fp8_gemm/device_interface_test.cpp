/// \file
/// The GEMM as a library on a GPU: leading dimensions, D in place of C, streams, repeated runs.
#include <limits>

#include "common/host/ceil_div.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"
#include "tests/chapters/with_stride.hpp"

namespace bw {
namespace {

class Interface : public HopperTest {};

using Size = ProblemsInStreams::Size;

TEST_F(Interface, EveryLeadingDimensionCounts) {
  const BlockwiseProblem problem =
      make_blockwise_problem(200, 264, 272, 0.5f, /*seed=*/5, Fill::kNormal);
  const int64_t m = problem.m, n = problem.n, k = problem.k;
  const int64_t k_blocks = ceil_div(k, 128);
  constexpr Fp8E4m3 kNanFp8{0x7f};
  constexpr Bf16 kNanBf16{kPoison};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DeviceBuffer<Fp8E4m3> a(with_stride(problem.a.values, k, k + 16, kNanFp8));
  const DeviceBuffer<Fp8E4m3> b(with_stride(problem.b.values, k, k + 48, kNanFp8));
  const DeviceBuffer<float> a_scales(
      with_stride(problem.a.scales, problem.a.scales_stride, problem.a.scales_stride + 4, nan));
  const DeviceBuffer<float> b_scales(with_stride(problem.b.scales, k_blocks, k_blocks + 3, nan));
  const DeviceBuffer<Bf16> c(with_stride(problem.c, n, n + 8, kNanBf16));
  DeviceBuffer<Bf16> d(m * (n + 24));
  const BlockwiseFp8GemmArguments arguments{.m = m,
                                            .n = n,
                                            .k = k,
                                            .a = a.data(),
                                            .lda = k + 16,
                                            .b = b.data(),
                                            .ldb = k + 48,
                                            .a_scales = a_scales.data(),
                                            .lda_scales = problem.a.scales_stride + 4,
                                            .b_scales = b_scales.data(),
                                            .ldb_scales = k_blocks + 3,
                                            .c = c.data(),
                                            .ldc = n + 8,
                                            .d = d.data(),
                                            .ldd = n + 24,
                                            .beta = problem.beta};
  const DeviceReference reference = float64_reference(arguments);
  for_every_config([&](const hopper::GemmKernel& kernel) {
    d.fill_bytes(kPoisonByte);
    hopper::blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
    const DeviceComparison comparison = compare_on_device(d.data(), n + 24, reference);
    EXPECT_TRUE(comparison.verified()) << comparison.describe();
    const std::vector<Bf16> padded = d.download();
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t i = n; i < n + 24; ++i) {
        ASSERT_EQ(padded[row * (n + 24) + i].bits, kPoison) << "the padding was written";
      }
    }
  });
}

TEST_F(Interface, OutputMayReplaceTheResidual) {
  const Size size = by_device<Size>({1000, 1160, 400}, {130, 264, 400});
  const BlockwiseProblem problem =
      make_blockwise_problem(size.m, size.n, size.k, 1.0f, /*seed=*/6, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const DeviceReference reference = float64_reference(on_device.arguments());
  for_configs_in_turn(/*turn=*/0, [&](const hopper::GemmKernel& kernel) {
    DeviceBuffer<Bf16> c_and_d(problem.c);
    BlockwiseFp8GemmArguments arguments = on_device.arguments();
    arguments.c = c_and_d.data();
    arguments.d = c_and_d.data();
    hopper::blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
    expect_verified(c_and_d.data(), reference);
  });
}

TEST_F(Interface, LaunchesOfAStreamSeeEachOthersResults) {
  // The second GEMM adds the first one's D, which has just been launched.
  const Size size = by_device<Size>({1000, 1160, 2048}, {130, 136, 272});
  const BlockwiseProblem problem =
      make_blockwise_problem(size.m, size.n, size.k, 1.0f, /*seed=*/7, Fill::kNormal);
  for_configs_in_turn(/*turn=*/1, [&](const hopper::GemmKernel& kernel) {
    const DeviceProblem first(problem), second(problem);
    BlockwiseFp8GemmArguments chained = second.arguments();
    chained.c = static_cast<const Bf16*>(first.arguments().d);
    hopper::blockwise_fp8_gemm(first.arguments(), kernel, kDefaultStream);
    hopper::blockwise_fp8_gemm(chained, kernel, kDefaultStream);
    expect_verified(second.arguments().d, float64_reference(chained));
  });
}

TEST_F(Interface, RepeatedRunsAreBitIdentical) {
  const int runs = by_device(20, 3);
  const std::vector<Size> on_gpu = {{1000, 1160, 3088}, {64, 2112, 7168}};
  const std::vector<Size> simulated = {{40, 328, 3088}, {16, 264, 1040}};
  for (const auto& [m, n, k] : by_device(on_gpu, simulated)) {
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, 0.5f, /*seed=*/8, Fill::kNormal);
    DeviceProblem on_device(problem);
    for_configs_in_turn(/*turn=*/2, [&](const hopper::GemmKernel& kernel) {
      const std::vector<Bf16> first = run_once(on_device, kernel);
      for (int run = 1; run < runs; ++run) {
        ASSERT_TRUE(same_bits(run_once(on_device, kernel), first))
            << "run " << run << " differs from the first";
      }
    });
  }
}

TEST_F(Interface, StreamsDoNotDisturbEachOther) {
  const int rounds = by_device(5, 2);
  using Sizes = std::vector<ProblemsInStreams::Size>;
  ProblemsInStreams problems(
      by_device<Sizes>({{200, 1000, 1024}, {320, 1136, 1552}, {440, 1272, 2080}, {560, 1408, 2608}},
                       {{40, 72, 272}, {72, 136, 400}, {136, 200, 528}, {200, 264, 656}}));
  for_configs_in_turn(/*turn=*/0, [&](const hopper::GemmKernel& kernel) {
    problems.expect_undisturbed(rounds, [&](size_t i, cudaStream_t stream) {
      hopper::blockwise_fp8_gemm(problems.arguments(i), kernel, stream);
    });
  });
}

TEST_F(Interface, EveryConfigurationFitsTheDevice) {
  for_every_config([](const hopper::GemmKernel& kernel) {
    cudaFuncAttributes attributes{};
    ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel.function), cudaSuccess);
    EXPECT_EQ(attributes.localSizeBytes, 0u) << "registers were spilled";
  });
}

}  // namespace
}  // namespace bw
