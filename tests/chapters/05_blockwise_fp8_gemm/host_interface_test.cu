// The GEMM as a library: leading dimensions, D in place of C, dependent launches, refusals.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/comparison.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace bw {
namespace {

constexpr cudaStream_t kDefaultStream = nullptr;

BlockwiseProblem small_problem(float beta) {
  return make_blockwise_problem(200, 264, 272, beta, /*seed=*/5, Fill::kNormal);
}

/// Row-major `values` [rows, columns], its rows `stride` apart; the gaps hold `padding`.
template <class T>
std::vector<T> with_stride(const std::vector<T>& values, int64_t columns, int64_t stride,
                           T padding) {
  const int64_t rows = static_cast<int64_t>(values.size()) / columns;
  std::vector<T> padded(rows * stride, padding);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(values.begin() + row * columns, columns, padded.begin() + row * stride);
  }
  return padded;
}

TEST(HostInterface, EveryLeadingDimensionCounts) {
  const BlockwiseProblem problem = small_problem(0.5f);
  const int64_t m = problem.m, n = problem.n, k = problem.k;
  const int64_t k_blocks = ceil_div(k, 128);
  constexpr Fp8E4m3 kNanFp8{0x7f};
  constexpr Bf16 kNanBf16{0xffff};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  DeviceBuffer<Fp8E4m3> a(with_stride(problem.a.values, k, k + 16, kNanFp8));
  DeviceBuffer<Fp8E4m3> b(with_stride(problem.b.values, k, k + 48, kNanFp8));
  DeviceBuffer<float> a_scales(
      with_stride(problem.a.scales, problem.a.scales_stride, problem.a.scales_stride + 4, nan));
  DeviceBuffer<float> b_scales(with_stride(problem.b.scales, k_blocks, k_blocks + 3, nan));
  DeviceBuffer<Bf16> c(with_stride(problem.c, n, n + 8, kNanBf16));
  DeviceBuffer<Bf16> d(m * (n + 24));
  d.fill_bytes(0xff);
  blockwise_fp8_gemm({.m = m,
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
                      .beta = problem.beta},
                     kDefaultStream);
  const std::vector<Bf16> padded = d.download();
  std::vector<Bf16> dense;
  for (int64_t row = 0; row < m; ++row) {
    const auto begin = padded.begin() + row * (n + 24);
    dense.insert(dense.end(), begin, begin + n);
    for (int64_t i = n; i < n + 24; ++i) ASSERT_EQ(begin[i].bits, 0xffff) << "padding was written";
  }
  EXPECT_TRUE(compare_with_reference(dense, n, blockwise_reference(problem)).verified());
}

TEST(HostInterface, OutputMayReplaceTheResidual) {
  const BlockwiseProblem problem = small_problem(1.0f);
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (kernel.traits.output != OutputType::kBf16) continue;
    const DeviceProblem on_device(problem);
    BlockwiseFp8GemmArguments arguments = on_device.arguments();
    DeviceBuffer<Bf16> c_and_d(problem.c);
    arguments.c = c_and_d.data();
    arguments.d = c_and_d.data();
    blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
    EXPECT_TRUE(compare_with_reference(c_and_d.download(), problem.n, blockwise_reference(problem))
                    .verified())
        << kernel.name;
  }
}

TEST(HostInterface, LaunchesOfAStreamSeeEachOthersResults) {
  // The second GEMM adds the first one's D, which has just been launched.
  BlockwiseProblem problem = small_problem(1.0f);
  const DeviceProblem first(problem), second(problem);
  BlockwiseFp8GemmArguments chained = second.arguments();
  chained.c = static_cast<const Bf16*>(first.arguments().d);
  blockwise_fp8_gemm(first.arguments(), kDefaultStream);
  blockwise_fp8_gemm(chained, kDefaultStream);
  problem.c = first.download_d<Bf16>();
  EXPECT_TRUE(
      compare_with_reference(second.download_d<Bf16>(), problem.n, blockwise_reference(problem))
          .verified());
}

void expect_refused(const std::string& part, const BlockwiseFp8GemmArguments& arguments,
                    const GemmKernel& kernel) {
  try {
    blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
    ADD_FAILURE() << "was accepted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(HostInterface, RefusesWhatTheKernelCantDo) {
  const DeviceProblem on_device(small_problem(0.0f));
  const BlockwiseFp8GemmArguments& good = on_device.arguments();
  const GemmKernel& kernel = gemm_kernels().front();
  expect_refused("cta1_128x128_1x1_fp32 writes fp32", good,
                 find_gemm_kernel("cta1_128x128_1x1_fp32"));
  GemmKernel greedy = kernel;
  greedy.shared_bytes = 300 * 1024;
  expect_refused("needs 307200 bytes of shared memory", good, greedy);
  GemmKernel huge = kernel;
  huge.traits.cluster_m = 1024;
  expect_refused("clusters of 1024 CTAs", good, huge);
  BlockwiseFp8GemmArguments without_c = good;
  without_c.beta = 1;
  without_c.c = nullptr;
  expect_refused("C is a null pointer", without_c, kernel);
}

TEST(KernelChoice, FollowsTheShapeAndTheOutputType) {
  constexpr int kMultiprocessors = 148;
  for (const int64_t m : {1, 64, 500, 4096}) {
    for (const OutputType output : {OutputType::kBf16, OutputType::kFp32}) {
      EXPECT_EQ(choose_gemm_kernel(m, 4096, 1024, output, kMultiprocessors).traits.output, output);
    }
  }
  EXPECT_EQ(
      choose_gemm_kernel(1, 2048, 1024, OutputType::kBf16, kMultiprocessors).traits.cta_rows(), 64)
      << "one row needs no more than half a tile";
  EXPECT_EQ(choose_gemm_kernel(4096, 4096, 1024, OutputType::kBf16, 1).traits.cluster_size(), 1)
      << "one SM holds no cluster";
  EXPECT_THROW(find_gemm_kernel("none"), Error);
}

}  // namespace
}  // namespace bw
