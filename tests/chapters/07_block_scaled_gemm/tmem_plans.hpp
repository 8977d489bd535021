#pragma once
/// \file
/// What configurations make of tensor memory.

#include "solutions/07_block_scaled_gemm/block_scaled_traits.hpp"

namespace bw {

/// The plan that a configuration has, in columns of tensor memory.
struct TmemPlan {
  int accumulators, accumulator_columns, sets, set_columns, scales_begin, second, shared;
};

/// The plan of a pair of CTAs with tiles of 256 x `n`. tmem_plans.cu has those that are tested.
template <BlockFormat format, int n, AccumulatorPlan accumulators = AccumulatorPlan::kRing>
TmemPlan pair_plan();

}  // namespace bw
