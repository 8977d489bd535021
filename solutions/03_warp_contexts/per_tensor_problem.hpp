#pragma once
/// \file
/// Operands of an FP8 GEMM with one scale per tensor.

#include <cstdint>

#include "common/device/min_max.cuh"
#include "common/host/blockwise_problem.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/random_normal.hpp"

namespace bw {

/// A [m, k] and B [n, k], normal random numbers quantised with one scale each. It is the blockwise
/// problem whose scales are all the same, so that the blockwise reference is its reference.
inline BlockwiseProblem make_per_tensor_problem(int64_t m, int64_t n, int64_t k, uint64_t seed) {
  BlockwiseProblem problem = make_blockwise_problem(0, 0, k, 0.0f, seed, Fill::kNormal);
  problem.m = m;
  problem.n = n;
  const auto quantise = [k](int64_t rows, const RandomNormal& normal) {
    QuantisedMatrix matrix{rows, k, std::vector<Fp8E4m3>(rows * k), {}, 0};
    const float scale = quantise_block(
        matrix, [&](int64_t row, int64_t column) { return normal(row * k + column); }, 0, rows, 0,
        k);
    // As many scales as either layout of the blockwise problem takes; all are equal.
    const int64_t k_blocks = ceil_div(k, kScaleBlock);
    matrix.scales_stride = max_of(rows, k_blocks);
    matrix.scales.assign(matrix.scales_stride * max_of(k_blocks, ceil_div(rows, kScaleBlock)),
                         scale);
    return matrix;
  };
  problem.a = quantise(m, RandomNormal(seed, 0));
  problem.b = quantise(n, RandomNormal(seed, 1));
  return problem;
}

}  // namespace bw
