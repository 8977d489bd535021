#pragma once
/// \file
/// The choices that make one kernel of the block-scaled GEMM.

#include "common/device/block_format.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_traits.hpp"

namespace bw {

/// What becomes of the columns of tensor memory that scales leave.
enum class AccumulatorPlan {
  kRing,         ///< as many whole accumulators as fit, one after the other
  kOverlapping,  ///< two that share columns: the next tile begins when those have been read
};

/// Compile-time choices of one kernel: chapter 5's, and what is new.
struct BlockScaledTraits {
  BlockFormat format = BlockFormat::kMxfp8;               ///< of A and B
  GemmTraits gemm;                                        ///< tiles, clusters, scheduler, output
  AccumulatorPlan accumulators = AccumulatorPlan::kRing;  ///< of tensor memory

  constexpr bool operator==(const BlockScaledTraits&) const = default;
};

/// The shapes that a CTA of this kernel can have: 128 rows, because an atom of A-scales has them.
constexpr bool is_block_scaled_shape(const GemmTraits& t) {
  constexpr int kScaleColumnRows = 32;  // the scales of B begin at a column of tensor memory
  return t.cta_rows() == 128 && t.mma_n > 0 && t.mma_n <= 256 && t.mma_n % kScaleColumnRows == 0 &&
         (t.cta_group == 1 || t.cta_group == 2) && t.cluster_m % t.cta_group == 0 &&
         t.k_group_size == 1;
}

}  // namespace bw
