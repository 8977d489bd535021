#pragma once
/// \file
/// The inner product of the tensor core model: fp32, one fused multiply-add per product, ascending
/// k.

#include <cstddef>
#include <cstdint>

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {

/// D[n][row] = fma(A[row][k], B[n][k], ...) for k = 0, 1, ..., starting from D[n][row] or from 0.
///
/// One block of 16 rows: `a` is [k][16], `b` is [n][ldb] with k contiguous, `d` is [n][ldd] with
/// rows contiguous. Every element is one chain of fused multiply-adds in ascending order of k,
/// whatever the processor, so splitting K over several calls changes no bit.
void multiply_row_block(const float* a, const float* b, size_t ldb, float* d, size_t ldd, size_t n,
                        size_t k, bool accumulate);

}  // namespace bw::sim
