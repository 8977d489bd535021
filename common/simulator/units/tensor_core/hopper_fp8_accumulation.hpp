#pragma once
/// \file
/// The sums of FP8 products by the rule of hopper_sum.hpp, many at once.
///
/// All 32 products of a step are exact in fp32, and so is their sum once the terms are cut: it has
/// 21 bits. Adding to an accumulator whose last bit is the last kept one, in the rounding mode
/// "towards zero", cuts each term as it is added. The accumulator is positive (a large number is
/// added first), so negative terms are cut downwards; those that lost bits are counted, one a lane
/// of bytes, and given back.

#include <span>

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/hopper_sum.hpp"

namespace bw::sim {

/// Products of a step.
inline constexpr size_t kFp8Step = 32;
/// Fraction bits that are kept of a term and of a result.
inline constexpr int kFp8FractionBits = kHopperFp8Precision.fraction_bits;
static_assert(kHopperFp8Precision.result_bits == kFp8FractionBits,
              "the result keeps as many bits as the terms");

/// Tiles that can be summed together: the rows of a warpgroup.
inline constexpr size_t kMostJointTiles = 4;

/// Sums tiles of FP8 that share B (at most kMostJointTiles; k a multiple of kFp8Step). False, and
/// nothing is written, where an operand is not finite, an accumulator is outside of the range that
/// FP8 products reach, the sums could leave it (two e5m2 matrices with their largest numbers), or
/// rows of B are apart (b_stride is not k): the caller then goes element by element.
///
/// What it finds out about B, a host thread keeps until another B comes.
[[nodiscard]] bool multiply_fp8(std::span<const RowTile> tiles, const TileFormats& formats);

}  // namespace bw::sim
