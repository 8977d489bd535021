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

/// 128 x 192.
constexpr GemmTraits kNarrowTile{.tile_m = 128,
                                 .tile_n = 192,
                                 .mma_n = 192,
                                 .stages = 4,
                                 .cluster_m = 2,
                                 .output_slots = 3,
                                 .writes_behind = true,
                                 .laps = 1};

/// 128 x 128. (Written without TMA, in one go: most of its shapes have a tile for each CTA.)
constexpr GemmTraits kSquareTile{.tile_m = 128,
                                 .tile_n = 128,
                                 .mma_n = 128,
                                 .stages = 6,
                                 .cluster_m = 2,
                                 .output_slots = 1,
                                 .direct_output = true,
                                 .two_products = true,
                                 .laps = 1};

/// 128 x 64, likewise.
constexpr GemmTraits kSmallTile{.tile_m = 128,
                                .tile_n = 64,
                                .mma_n = 64,
                                .stages = 8,
                                .cluster_m = 2,
                                .output_slots = 1,
                                .direct_output = true,
                                .laps = 1};

/// `rows` x 64 with B on wgmma's M side. As many stages as fit, with the sums, `resident_ctas`
/// times.
constexpr GemmTraits swap_ab_traits(int rows, int stages, int resident_ctas,
                                    bool two_products = false) {
  return {.tile_m = rows,
          .tile_n = kMmaRows,
          .stages = stages,
          .swap_ab = true,
          .resident_ctas = resident_ctas,
          .two_products = two_products};
}

/// The same tile, the last round divided along K.
constexpr GemmTraits with_stream_k(GemmTraits traits) {
  traits.stream_k = true;
  traits.laps = 0;
  return traits;
}

/// The same tile without a cluster.
constexpr GemmTraits without_cluster(GemmTraits traits) {
  traits.cluster_m = traits.cluster_n = 1;
  return traits;
}

/// The same tile, its K shared by the `split` CTAs of a cluster.
constexpr GemmTraits with_split_k(GemmTraits traits, int split, int stages) {
  traits.split_k = split;
  traits.two_products = false;
  traits.laps = 0;
  traits.stages = stages;
  return without_cluster(traits);
}

}  // namespace bw::hopper::detail
