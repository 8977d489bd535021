#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM in the arithmetic of Hopper's tensor cores, element by element:
/// what a kernel gives, bit for bit, that sums every K block by one chain of wgmma, promotes it by
/// one fp32 FMA and rounds to bf16 at the end.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/host/blockwise_problem.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/tensor_core_sum.hpp"

namespace bw {

/// Ranges of K blocks that are summed on their own, and whose sums are then added in order, as
/// kernels do that split K. Without more: one range, all of K.
class KParts {
 public:
  static constexpr int kMost = 8;  ///< most parts

  constexpr KParts() = default;

  /// Number of parts.
  constexpr int count() const { return count_; }
  /// First K block of a part.
  constexpr int64_t begin(int part) const { return part == 0 ? 0 : ends_[part - 1]; }
  /// Where it ends, in a K of `k_blocks`; the last part goes to the end of any K.
  constexpr int64_t end(int part, int64_t k_blocks) const {
    return ends_[part] < k_blocks ? ends_[part] : k_blocks;
  }

  /// Ends the last part at K block `end`, where another one begins. There are `kMost` at most.
  constexpr void split_at(int64_t end) {
    ends_[count_ - 1] = end;
    ends_[count_++] = kNoEnd;
  }

 private:
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

  int count_ = 1;
  int64_t ends_[kMost] = {kNoEnd};
};

/// `count` parts of a K of `k` columns that are as equal as whole K blocks allow.
constexpr KParts equal_k_parts(int64_t k, int count) {
  const int64_t k_blocks = ceil_div(k, kPromotedProducts);
  KParts parts;
  for (int part = 1; part < count; ++part) parts.split_at(k_blocks * part / count);
  return parts;
}

/// Element (row, column) of D, with K summed in `parts`.
inline Bf16 tensor_core_element(const BlockwiseProblem& problem, int64_t row, int64_t column,
                                const KParts& parts = {}) {
  static_assert(kPromotedProducts == kScaleBlock, "a promoted sum has one scale of A and one of B");
  const QuantisedMatrix& a = problem.a;
  const QuantisedMatrix& b = problem.b;
  const int64_t k_blocks = ceil_div(problem.k, kPromotedProducts);
  float total = 0;
  for (int part = 0; part < parts.count(); ++part) {
    float sum = 0;
    for (int64_t block = parts.begin(part); block < parts.end(part, k_blocks); ++block) {
      const int64_t first = block * kPromotedProducts;
      const float product = tensor_core_block(
          a.values.data() + row * a.k + first, b.values.data() + column * b.k + first,
          std::min<int64_t>(kPromotedProducts, problem.k - first));
      const float scale = a.scales[block * a.scales_stride + row] *
                          b.scales[column / kScaleBlock * b.scales_stride + block];
      sum = std::fma(product, scale, sum);
    }
    total = part == 0 ? sum : total + sum;
  }
  if (problem.beta != 0) {
    total = std::fma(problem.beta, to_float(problem.c[row * problem.n + column]), total);
  }
  return to_bf16(total);
}

}  // namespace bw
