#include "tests/chapters/07_block_scaled_gemm/tmem_plans.hpp"

#include "solutions/07_block_scaled_gemm/block_scaled_config.cuh"

namespace bw {

template <BlockFormat format, int n, AccumulatorPlan accumulators>
TmemPlan pair_plan() {
  constexpr BlockScaledTraits kTraits{
      .format = format,
      .gemm = {.mma_m = 256, .mma_n = n, .cta_group = 2, .cluster_m = 2},
      .accumulators = accumulators};
  using Tmem = typename BlockScaledConfig<kTraits>::Tmem;
  return {Tmem::kNumAccumulators, Tmem::kAccumulatorColumns, Tmem::kNumSets,      Tmem::kSetColumns,
          Tmem::kScalesBegin,     Tmem::kSecondAccumulator,  Tmem::kSharedColumns};
}

template TmemPlan pair_plan<BlockFormat::kMxfp8, 128>();
template TmemPlan pair_plan<BlockFormat::kMxfp8, 192>();
template TmemPlan pair_plan<BlockFormat::kMxfp8, 224>();
template TmemPlan pair_plan<BlockFormat::kMxfp8, 256>();
template TmemPlan pair_plan<BlockFormat::kMxfp4, 256>();
template TmemPlan pair_plan<BlockFormat::kNvfp4, 192>();
template TmemPlan pair_plan<BlockFormat::kNvfp4, 256>();
template TmemPlan pair_plan<BlockFormat::kMxfp8, 256, AccumulatorPlan::kOverlapping>();
template TmemPlan pair_plan<BlockFormat::kNvfp4, 256, AccumulatorPlan::kOverlapping>();

}  // namespace bw
