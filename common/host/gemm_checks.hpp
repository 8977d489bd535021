#pragma once
/// \file
/// What a GEMM over TMA can address, checked before anything is allocated or launched.

#include <cstdint>

namespace bw {

/// Throws Error for sizes that TMA or the tile scheduler can't address.
void validate_gemm_shape(int64_t m, int64_t n, int64_t k);

/// Throws Error unless rows of `columns` elements of `element_bytes` bytes, `stride` elements
/// apart, at `data`, are what TMA can address.
void validate_tma_matrix(const char* name, const void* data, int64_t columns, int64_t stride,
                         int64_t element_bytes);

}  // namespace bw
