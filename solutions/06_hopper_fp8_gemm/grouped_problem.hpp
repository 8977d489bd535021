#pragma once
/// \file
/// Random inputs for several products in one launch, their matrices on the device, and what came
/// out of each.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/device_buffer.hpp"
#include "solutions/06_hopper_fp8_gemm/grouped_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_verification.hpp"

namespace bw::hopper {

/// The common properties of all products, and the number of rows of each.
struct GroupedProblem {
  int64_t n;                  ///< columns of D
  int64_t k;                  ///< columns of A and B
  float beta;                 ///< factor of C
  uint64_t seed;              ///< of the first product; each further one's is one more
  std::vector<int64_t> rows;  ///< of each product
  GroupLayout layout;         ///< their arrangement in A, C and D
  int64_t room;               ///< masked: rows that each product has room for

  /// Rows of A, C and D.
  int64_t all_rows() const {
    return layout == GroupLayout::kMasked ? room * static_cast<int64_t>(rows.size())
                                          : contiguous_rows(rows).rows;
  }
  /// Average rows of a product, rounded up.
  int64_t mean_rows() const {
    return ceil_div(std::accumulate(rows.begin(), rows.end(), int64_t{0}),
                    std::max<int64_t>(static_cast<int64_t>(rows.size()), 1));
  }
  /// Where product `group` begins.
  int64_t first_row(size_t group) const {
    return layout == GroupLayout::kMasked ? room * static_cast<int64_t>(group)
                                          : contiguous_rows(rows).first_row[group];
  }
  /// The inputs of one product; one without rows has an unused row.
  BlockwiseProblem product(size_t group) const {
    return make_blockwise_problem(std::max<int64_t>(rows[group], 1), n, k, beta, seed + group,
                                  Fill::kNormal);
  }
};

/// The matrices of all products on the device. The gaps between products are 0 in A and C, and
/// poison (NaN) in D.
class GroupedDeviceProblem {
 public:
  /// Copies them.
  explicit GroupedDeviceProblem(const GroupedProblem& problem)
      : problem_(problem), numbers_(numbers_of(problem)), d_(problem.all_rows() * problem.n) {
    const int64_t rows = problem.all_rows();
    const int64_t k_blocks = ceil_div(problem.k, kScaleBlock);
    constexpr int64_t kStrideUnit = 4;  // TMA's 16 bytes
    lda_scales_ = round_up(rows, kStrideUnit);
    std::vector<Fp8E4m3> a(rows * problem.k), b;
    std::vector<float> a_scales(k_blocks * lda_scales_), b_scales;
    std::vector<Bf16> c(problem.beta == 0 ? 0 : rows * problem.n);
    for (size_t group = 0; group < problem.rows.size(); ++group) {
      const BlockwiseProblem product = problem.product(group);
      b.insert(b.end(), product.b.values.begin(), product.b.values.end());
      b_scales.insert(b_scales.end(), product.b.scales.begin(), product.b.scales.end());
      const int64_t own_rows = problem.rows[group];
      const int64_t first = problem.first_row(group);
      std::copy_n(product.a.values.begin(), own_rows * problem.k, a.begin() + first * problem.k);
      for (int64_t block = 0; block < k_blocks; ++block) {
        std::copy_n(product.a.scales.begin() + block * product.a.scales_stride, own_rows,
                    a_scales.begin() + block * lda_scales_ + first);
      }
      if (!c.empty())
        std::copy_n(product.c.begin(), own_rows * problem.n, c.begin() + first * problem.n);
    }
    a_ = DeviceBuffer<Fp8E4m3>(a);
    b_ = DeviceBuffer<Fp8E4m3>(b);
    a_scales_ = DeviceBuffer<float>(a_scales);
    b_scales_ = DeviceBuffer<float>(b_scales);
    c_ = DeviceBuffer<Bf16>(c);
    poison_d();
  }

  /// Makes every element of D a NaN.
  void poison_d() {
    constexpr int kPoisonByte = 0xff;
    d_.fill_bytes(kPoisonByte);
  }

  /// What the GEMM takes; valid as long as this object lives.
  GroupedFp8GemmArguments arguments() const {
    const auto groups = static_cast<int64_t>(problem_.rows.size());
    return {.gemm = {.m = problem_.all_rows(),
                     .n = problem_.n,
                     .k = problem_.k,
                     .a = a_.data(),
                     .lda = problem_.k,
                     .b = b_.data(),
                     .ldb = problem_.k,
                     .a_scales = a_scales_.data(),
                     .lda_scales = lda_scales_,
                     .b_scales = b_scales_.data(),
                     .ldb_scales = ceil_div(problem_.k, kScaleBlock),
                     .c = c_.data(),
                     .ldc = problem_.n,
                     .d = const_cast<Bf16*>(d_.data()),
                     .ldd = problem_.n,
                     .beta = problem_.beta},
            .groups = groups,
            .layout = problem_.layout,
            .numbers = numbers_.data()};
  }

  /// The arguments of one product by itself, with the same matrices.
  BlockwiseFp8GemmArguments product_arguments(size_t group) const {
    BlockwiseFp8GemmArguments gemm = arguments().gemm;
    const int64_t first = problem_.first_row(group);
    const int64_t row_blocks = ceil_div(problem_.n, kScaleBlock);
    const auto number = static_cast<int64_t>(group);
    gemm.m = problem_.rows[group];
    gemm.a += first * gemm.lda;
    gemm.a_scales += first;
    gemm.b += number * problem_.n * gemm.ldb;
    gemm.b_scales += number * row_blocks * gemm.ldb_scales;
    if (gemm.c != nullptr) gemm.c += first * gemm.ldc;
    gemm.d = static_cast<Bf16*>(gemm.d) + first * gemm.ldd;
    return gemm;
  }

  /// All of D, after the default stream's work.
  std::vector<Bf16> download_d() const { return d_.download(); }

  /// The device's copy of the numbers.
  DeviceBuffer<int32_t>& numbers() { return numbers_; }

 private:
  static std::vector<int32_t> numbers_of(const GroupedProblem& problem) {
    if (problem.layout == GroupLayout::kContiguous) return contiguous_rows(problem.rows).numbers;
    return {problem.rows.begin(), problem.rows.end()};
  }

  GroupedProblem problem_;
  DeviceBuffer<int32_t> numbers_;
  DeviceBuffer<Fp8E4m3> a_{0}, b_{0};
  DeviceBuffer<float> a_scales_{0}, b_scales_{0};
  DeviceBuffer<Bf16> c_{0}, d_;
  int64_t lda_scales_ = 0;
};

/// What is wrong with D of one product.
struct GroupVerification {
  size_t group = 0;             ///< which product
  Verification verification{};  ///< what was found
};

/// Verifies every product that has rows against float64, by the criterion of one GEMM.
inline std::vector<GroupVerification> verify_groups(const GroupedProblem& problem,
                                                    const std::vector<Bf16>& d,
                                                    const GemmKernel& kernel) {
  std::vector<GroupVerification> results;
  const auto k_blocks = static_cast<uint32_t>(ceil_div(problem.k, kScaleBlock));
  const SummationOrder order(kernel.traits, k_blocks, TileRaster{1, 1}, StreamKSchedule{});
  for (size_t group = 0; group < problem.rows.size(); ++group) {
    const int64_t rows = problem.rows[group];
    if (rows == 0) continue;
    const BlockwiseProblem product = problem.product(group);
    const auto begin = d.begin() + problem.first_row(group) * problem.n;
    results.push_back({group, verify_elements(product, {begin, begin + rows * problem.n}, order,
                                              blockwise_reference(product))});
  }
  return results;
}

}  // namespace bw::hopper
