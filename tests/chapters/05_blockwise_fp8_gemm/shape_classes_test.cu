/// \file
/// Every shape of the contract, each as a kernel of its own, compared with the float64 reference.
#include "tests/chapters/05_blockwise_fp8_gemm/shape_classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/comparison.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace bw {

/// How GoogleTest names a parameter.
void PrintTo(const GemmKernel& kernel, std::ostream* out) { *out << kernel.name; }

}  // namespace bw

namespace bw::test {
namespace {

template <class Output>
Comparison run(const BlockwiseProblem& problem, const GemmKernel& kernel) {
  const DeviceProblem on_device(problem, kernel.traits.output);
  blockwise_fp8_gemm(on_device.arguments(), kernel, nullptr);
  const std::vector<Output> d = on_device.download_d<Output>();
  return problem.fill == Fill::kPositionC
             ? compare_with_residual(d, problem)
             : compare_with_reference(d, problem.n, blockwise_reference(problem));
}

void expect_verified(const GemmKernel& kernel, int64_t m, int64_t n, int64_t k, float beta,
                     Fill fill) {
  constexpr uint64_t kSeed = 3;
  const BlockwiseProblem problem = make_blockwise_problem(m, n, k, beta, kSeed, fill);
  const Comparison comparison = kernel.traits.output == OutputType::kBf16
                                    ? run<Bf16>(problem, kernel)
                                    : run<float>(problem, kernel);
  EXPECT_EQ(comparison.elements, m * n);
  EXPECT_TRUE(comparison.verified())
      << kernel.name << ": " << comparison.bad_elements << " of " << m << " x " << n
      << " elements are wrong; the first is in row " << comparison.first_bad->row << ", column "
      << comparison.first_bad->column;
}

std::vector<GemmKernel> all_classes() {
  std::vector<GemmKernel> all;
  for (const auto group : {tall_kernels, half_kernels, pair_kernels, cluster_kernels,
                           pair_cluster_kernels, grouped_kernels}) {
    for (GemmKernel& kernel : group()) all.push_back(std::move(kernel));
  }
  for (const GemmKernel& kernel : gemm_kernels()) all.push_back(kernel);
  return all;
}

class ShapeClasses : public testing::TestWithParam<GemmKernel> {};

TEST_P(ShapeClasses, RaggedProblemIsRight) {
  // More than one cluster in both dimensions, none of them full; three K blocks, the last one cut.
  const GemmTraits& t = GetParam().traits;
  expect_verified(GetParam(), t.cluster_rows() + 9, 2 * t.cluster_columns() - 8, 272, 0.5f,
                  Fill::kNormal);
}

/// Numbers of K blocks, with a cut last block where K is not a multiple of 128: whole groups, a
/// group that is not full at the end of each tile, more stages than the ring has, and clusters that
/// compute several tiles, so that the next one's first group follows an incomplete one.
TEST(GroupedKBlocks, AnyNumberOfThemIsRight) {
  for (const GemmKernel& kernel : all_classes()) {
    if (kernel.traits.k_group_size == 1) continue;
    const GemmTraits& t = kernel.traits;
    for (const int64_t k : {128, 256, 400, 640, 1152, 1296}) {
      expect_verified(kernel, 2 * t.cluster_rows() + 1, t.cluster_columns() + 8, k, 1.0f,
                      Fill::kNormal);
    }
  }
}

TEST_P(ShapeClasses, EveryElementOfTheResidualIsInItsPlace) {
  const GemmTraits& t = GetParam().traits;
  expect_verified(GetParam(), t.cluster_rows() + 1, t.cluster_columns() + 8, 16, 1.0f,
                  Fill::kPositionC);
}

INSTANTIATE_TEST_SUITE_P(All, ShapeClasses, testing::ValuesIn(all_classes()),
                         [](const auto& kernel) { return kernel.param.name; });

TEST(ShippedAndTested, CoverEveryClusterOfEveryMma) {
  std::set<std::string> covered;
  for (const GemmKernel& kernel : all_classes()) {
    GemmTraits traits = kernel.traits;
    traits.mma_n = 0;
    traits.scheduling = TileScheduling::kStatic;
    traits.output = OutputType::kBf16;
    traits.k_group_size = 1;
    covered.insert(gemm_kernel_name(traits));
  }
  for (const char* mma : {"cta1_64x0", "cta1_128x0", "cta2_128x0", "cta2_256x0"}) {
    for (const char* cluster : {"_1x1", "_2x1", "_2x2", "_4x4", "_8x2"}) {
      const std::string name = std::string(mma) + cluster;
      const bool possible = name.find("cta2") == std::string::npos || cluster[1] != '1';
      EXPECT_EQ(covered.count(name), possible ? 1u : 0u) << name;
    }
  }
}

/// Most B-scale blocks that a tile of `mma_n` columns touches, at any position.
int64_t most_b_scale_blocks(int64_t mma_n) {
  constexpr int64_t kBlock = 128;
  int64_t most = 0;
  for (int64_t tile = 0; tile < kBlock; ++tile) {
    const int64_t first = tile * mma_n, last = first + mma_n - 1;
    most = std::max(most, last / kBlock - first / kBlock + 1);
  }
  return most;
}

TEST(ShippedAndTested, CoverEveryColumnCountOfEveryMma) {
  std::set<std::string> covered;
  for (const GemmKernel& kernel : all_classes()) {
    covered.insert(gemm_kernel_name({.mma_m = kernel.traits.mma_m,
                                     .mma_n = kernel.traits.mma_n,
                                     .cta_group = kernel.traits.cta_group,
                                     .cluster_m = kernel.traits.cta_group}));
  }
  int wanted = 0;
  for (const auto& [cta_group, mma_m] :
       {std::pair{1, 64}, std::pair{1, 128}, std::pair{2, 128}, std::pair{2, 256}}) {
    for (int mma_n = 16 * cta_group; mma_n <= 256; mma_n += 16 * cta_group) {
      if (most_b_scale_blocks(mma_n) > 2) continue;
      const std::string name = gemm_kernel_name(
          {.mma_m = mma_m, .mma_n = mma_n, .cta_group = cta_group, .cluster_m = cta_group});
      EXPECT_TRUE(covered.count(name)) << name;
      ++wanted;
    }
  }
  EXPECT_EQ(wanted, 2 * 12 + 2 * 7) << "16 ... 128, 144, 160, 192 and 256; of pairs the even ones";
}

}  // namespace
}  // namespace bw::test
