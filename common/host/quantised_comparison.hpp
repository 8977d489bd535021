#pragma once
/// \file
/// Compares a D that a kernel has quantised with the float64 reference of D.

#include "common/host/block_scaled_matrix.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/comparison.hpp"

namespace bw {

/// The largest magnitude of the reference.
double largest_magnitude(const BlockwiseReference& reference);

/// The scales [rows, blocks] of `d`: each has to be the one that its format's rounding gives for
/// the largest magnitude of the block in the reference, or in a D that is off by what an fp32
/// accumulation may lose. MXFP8: the smallest power of two that clips nothing; NVFP4: the nearest
/// ue4m3 to largest / 6 / factor.
Comparison compare_quantised_scales(const BlockwiseReference& reference,
                                    const BlockScaledMatrix& d);

/// The elements [rows, k] of `d` times their scales and the factor: each may be as far from the
/// reference as the nearest code is, with the block's own scale, for a D that is off by what an
/// fp32 accumulation may lose.
Comparison compare_quantised(const BlockwiseReference& reference, const BlockScaledMatrix& d);

}  // namespace bw
