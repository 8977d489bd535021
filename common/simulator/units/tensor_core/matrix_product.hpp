#pragma once
/// \file
/// The inner product of the tensor core model: fp32, one fused multiply-add per product, ascending
/// k.

#include <span>

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {

/// D[n][row] = fma(A[row][k], B[n][k], ...) for k = 0, 1, ..., starting from D[n][row] or from 0,
/// for tiles that share B (Accumulation::multiply_together).
///
/// Every element is one chain of fused multiply-adds in ascending order of k, whatever the
/// processor, so splitting K over several calls changes no bit.
void multiply_row_blocks(std::span<const RowTile> tiles);

/// Likewise for FP8 (e4m3, e5m2) that is given as `a_codes` and `b_codes` alone.
void multiply_codes(std::span<const RowTile> tiles, const TileFormats& formats);

}  // namespace bw::sim
