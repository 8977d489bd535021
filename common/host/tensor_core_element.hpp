#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM in the arithmetic of Hopper's tensor cores, element by element:
/// what a kernel gives, bit for bit, that sums every K block by one chain of wgmma, promotes it by
/// one fp32 FMA and rounds to bf16 at the end.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/host/blockwise_problem.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/tensor_core_sum.hpp"

namespace bw {

/// Element (row, column) of D. `split_k`: ranges of K blocks that are summed on their own and then
/// added in order, as kernels do that split K.
inline Bf16 tensor_core_element(const BlockwiseProblem& problem, int64_t row, int64_t column,
                                int split_k = 1) {
  static_assert(kPromotedProducts == kScaleBlock, "a promoted sum has one scale of A and one of B");
  const QuantisedMatrix& a = problem.a;
  const QuantisedMatrix& b = problem.b;
  const int64_t k_blocks = ceil_div(problem.k, kPromotedProducts);
  float total = 0;
  for (int part = 0; part < split_k; ++part) {
    float sum = 0;
    for (int64_t block = k_blocks * part / split_k; block < k_blocks * (part + 1) / split_k;
         ++block) {
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
