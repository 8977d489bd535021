#pragma once
/// \file
/// Compiles a kernel where it is named.

#include <cstring>
#include <vector>

#include "solutions/05_blockwise_fp8_gemm/describe_gemm.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_gemm_kernel.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_kernels.hpp"

namespace bw::detail {

/// What --describe says: chapter 5's lines, and where the scales are.
template <class Config>
KernelDescription describe_block_scaled() {
  using Tmem = typename Config::Tmem;
  KernelDescription description = describe_gemm<Config>();
  description.tile = {Config::kCtaRows,
                      " x ",
                      Config::kMmaN,
                      " of D, K blocks of ",
                      block_k(Config::kFormat),
                      " elements; MMA ",
                      Config::traits.mma_m,
                      " x ",
                      Config::kMmaN,
                      ", cta_group ",
                      Config::kCtaGroup,
                      "; scales: ",
                      Tmem::kNumSets,
                      " sets of ",
                      Tmem::kSetColumns,
                      " columns"};
  if (Tmem::kOverlaps) {
    description.tile.insert(description.tile.end(),
                            {"; two accumulators share ", Tmem::kSharedColumns, " columns"});
  }
  for (SharedPart& part : description.shared) {
    if (std::strcmp(part.name, "A, B, A-scales") == 0) part.name = "A, B, scales";
  }
  return description;
}

/// Instantiates the kernel of `traits`.
template <BlockScaledTraits traits>
BlockScaledKernel instantiate_block_scaled_kernel() {
  using Config = BlockScaledConfig<traits>;
  const char* const name = block_scaled_kernel_name(traits);
  return BlockScaledKernel{
      name, traits,
      GemmKernel{name, traits.gemm, Config::Slice::kColumns, Config::Slice::kPerTile,
                 Config::Tmem::kAccumulatorColumns, Config::Tmem::kNumAccumulators,
                 Config::Roles::kThreads,
                 shared_bytes_for_all_columns(sizeof(typename Config::SharedStorage)),
                 reinterpret_cast<const void*>(block_scaled_gemm_kernel<Config>),
                 describe_block_scaled<Config>},
      Config::kBScaleParts};
}

/// The kernels of one format, from the narrowest tile to the fastest one for large shapes.
template <BlockFormat format>
std::vector<BlockScaledKernel> kernels_of_format() {
  constexpr auto kClc = TileScheduling::kLaunchControl;
  constexpr auto kOverlapping = AccumulatorPlan::kOverlapping;
  constexpr GemmTraits kPair{.mma_m = 256, .mma_n = 256, .cta_group = 2, .cluster_m = 2};
  return {
      instantiate_block_scaled_kernel<BlockScaledTraits{.format = format,
                                                        .gemm = {.mma_m = 128, .mma_n = 128}}>(),
      instantiate_block_scaled_kernel<BlockScaledTraits{
          .format = format, .gemm = {.mma_m = 128, .mma_n = 192, .scheduling = kClc}}>(),
      instantiate_block_scaled_kernel<BlockScaledTraits{
          .format = format,
          .gemm = {.mma_m = 256, .mma_n = 192, .cta_group = 2, .cluster_m = 2}}>(),
      instantiate_block_scaled_kernel<BlockScaledTraits{.format = format, .gemm = kPair}>(),
      instantiate_block_scaled_kernel<BlockScaledTraits{
          .format = format, .gemm = kPair, .accumulators = kOverlapping}>(),
      instantiate_block_scaled_kernel<BlockScaledTraits{.format = format,
                                                        .gemm = {.mma_m = 256,
                                                                 .mma_n = 256,
                                                                 .cta_group = 2,
                                                                 .cluster_m = 2,
                                                                 .cluster_n = 2,
                                                                 .scheduling = kClc},
                                                        .accumulators = kOverlapping}>(),
      instantiate_block_scaled_kernel<BlockScaledTraits{
          .format = format,
          .gemm = {.mma_m = 256, .mma_n = 256, .cta_group = 2, .cluster_m = 4, .cluster_n = 2},
          .accumulators = kOverlapping}>(),
  };
}

}  // namespace bw::detail
