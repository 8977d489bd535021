#pragma once
/// \file
/// Dense matrix products for references, on one core.

#include <cstdint>

namespace bw {

/// d [rows, columns] = a [rows, depth] · b [columns, depth]ᵀ, all in dense rows. Each sum is taken
/// in the type of the matrices, in an order of the library's choice.
void multiply_transposed(const double* a, const double* b, double* d, int64_t rows, int64_t columns,
                         int64_t depth);
/// The same in fp32.
void multiply_transposed(const float* a, const float* b, float* d, int64_t rows, int64_t columns,
                         int64_t depth);

}  // namespace bw
