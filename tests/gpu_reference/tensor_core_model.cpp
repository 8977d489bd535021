#include "tests/gpu_reference/tensor_core_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/gpu_reference/tensor_core_sum.hpp"

namespace bw {

Bf16 tensor_core_element(const BlockwiseProblem& problem, int64_t row, int64_t column,
                         int split_k) {
  const QuantisedMatrix& a = problem.a;
  const QuantisedMatrix& b = problem.b;
  const int64_t k_blocks = ceil_div(problem.k, kPromotedProducts);
  float total = 0;
  for (int part = 0; part < split_k; ++part) {
    float sum = 0;
    for (int64_t block = k_blocks * part / split_k; block < k_blocks * (part + 1) / split_k;
         ++block) {
      const int64_t first = block * kPromotedProducts;
      const float product =
          tensor_core_block(&a.values[row * a.k + first], &b.values[column * b.k + first],
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

std::string ModelComparison::describe() const {
  char text[320];
  std::snprintf(text, sizeof(text),
                "%lld elements: %lld off by more than is allowed (the model of the tensor cores: "
                "%lld), %lld of them not as the model has it; %lld of all not as the model has it",
                static_cast<long long>(elements), static_cast<long long>(outside),
                static_cast<long long>(model_outside), static_cast<long long>(unexplained),
                static_cast<long long>(different));
  return text;
}

}  // namespace bw
