#pragma once
/// \file
/// Tiles that several of these kernels have.

#include "solutions/06_hopper_fp8_gemm/gemm_traits.hpp"

namespace bw::hopper::detail {

/// 128 x 256.
constexpr GemmTraits kWideTile{.tile_m = 128,
                               .tile_n = 256,
                               .mma_n = 128,
                               .stages = 4,
                               .cluster_m = 2,
                               .output_slots = 2,
                               .writes_behind = true};

/// 128 x 128.
constexpr GemmTraits kNarrowTile{.tile_m = 128,
                                 .tile_n = 192,
                                 .mma_n = 192,
                                 .stages = 4,
                                 .cluster_m = 2,
                                 .output_slots = 3,
                                 .writes_behind = true};

/// The same tile, the last round divided along K.
constexpr GemmTraits with_stream_k(GemmTraits traits) {
  traits.stream_k = true;
  return traits;
}

/// The same tile without a cluster.
constexpr GemmTraits without_cluster(GemmTraits traits) {
  traits.cluster_m = traits.cluster_n = 1;
  return traits;
}

}  // namespace bw::hopper::detail
