#include "solutions/05_blockwise_fp8_gemm/gemm_cost_model.hpp"

#include <algorithm>
#include <limits>

#include "common/device/scale_block.cuh"
#include "common/host/ceil_div.hpp"
#include "solutions/05_blockwise_fp8_gemm/launch_control_grid.hpp"

namespace bw {
namespace {

/// The epilogue promotes an accumulator: tensor memory is read column by column.
int64_t promote_cycles(const GemmKernel& kernel) {
  constexpr int64_t kHandOver = 270;  // waits, A-scale, release
  constexpr int64_t kPerColumn = 3;
  constexpr int64_t kSecondScale = 170;  // choosing between two B-scales
  const int64_t columns_of_a_warp = kernel.accumulator_columns / kernel.traits.epilogue_groups();
  const bool has_two_scales = kScaleBlock % kernel.thread_columns() != 0;
  return kHandOver + columns_of_a_warp * kPerColumn + (has_two_scales ? kSecondScale : 0);
}

/// The tensor core multiplies a K block.
int64_t multiply_cycles(const GemmTraits& traits) {
  constexpr int64_t kMmasPerKBlock = 4;
  const bool is_half_pair = traits.cta_group == 2 && traits.mma_m == 128;
  return kMmasPerKBlock * traits.mma_n / (is_half_pair ? 4 : 2);
}

/// From the first MMA of a K block until its accumulator may be overwritten.
int64_t accumulator_cycles(const GemmKernel& kernel) {
  constexpr int64_t kMmaLatency = 330;
  constexpr int64_t kRemoteArrival = 170;
  return multiply_cycles(kernel.traits) + kMmaLatency + promote_cycles(kernel) +
         (kernel.traits.cta_group == 2 ? kRemoteArrival : 0);
}

/// The L2 cache delivers a K block to each of `ctas` CTAs: what is multicast is read once.
int64_t l2_cycles(const GemmTraits& traits, int64_t ctas) {
  const int64_t rows =
      traits.cta_rows() / traits.a_slices() + traits.cta_b_rows() / traits.b_slices();
  const int64_t bytes = rows * kScaleBlock + traits.cta_rows() * int64_t{sizeof(float)};
  return ctas * bytes / kL2BytesPerCycle;
}

/// A K block, while `ctas` CTAs compute: as long as its scarcest resource takes, and longer the
/// more of the L2 cache's bandwidth is in use.
int64_t k_block_cycles(const GemmKernel& kernel, int64_t ctas) {
  constexpr int64_t kSecondBlockOfAStage = 50;
  constexpr int64_t kL2PerWait = 50;  // one cycle of waiting for this many of copies
  const GemmTraits& traits = kernel.traits;
  const int64_t l2 = l2_cycles(traits, ctas);
  return std::max({promote_cycles(kernel), accumulator_cycles(kernel) / kernel.accumulator_stages,
                   multiply_cycles(traits), l2}) +
         l2 / kL2PerWait + (traits.k_group_size > 1 ? kSecondBlockOfAStage : 0);
}

/// TMA stores one slice of D.
int64_t store_cycles(const GemmKernel& kernel) {
  constexpr int64_t kStart = 130;
  constexpr int64_t kPerKib = 52;
  constexpr int64_t kGroupRows = 128;
  const int64_t bytes = kGroupRows * kernel.traits.epilogue_groups() * kernel.slice_columns *
                        kernel.traits.output_bytes();
  return kStart + kPerKib * bytes / 1024;
}

/// The epilogue puts one slice of D into its buffer.
int64_t fill_cycles(const GemmKernel& kernel) {
  constexpr int64_t kBarriers = 150;
  constexpr int64_t kPerColumn = 14;
  return kBarriers + kPerColumn * kernel.slice_columns;
}

/// Clusters that run at once. A cluster is within one GPC, so that of 148 multiprocessors not 9 but
/// 8 clusters of 16 CTAs fit. The size of a B200's GPC isn't published: 18 are assumed.
int64_t resident_clusters(int multiprocessors, int cluster_size) {
  constexpr int kGpcMultiprocessors = 18;
  return multiprocessors / kGpcMultiprocessors * (kGpcMultiprocessors / cluster_size) +
         multiprocessors % kGpcMultiprocessors / cluster_size;
}

}  // namespace

GemmCost gemm_cost(const GemmKernel& kernel, int64_t ctas) {
  constexpr int64_t kStart = 1880;         // prologue and the first K block's way
  constexpr int64_t kClusterStart = 1630;  // cluster barriers
  constexpr int64_t kPairStart = 800;      // the pair's hand-overs
  constexpr int64_t kTileHandOver = 700;   // the scheduler's message, the first K block's way
  constexpr int64_t kAnswer = 760;         // launch control
  constexpr int64_t kFreeBuffers = 2;      // later slices wait for the store before the last
  const GemmTraits& traits = kernel.traits;
  const int64_t fill = fill_cycles(kernel), store = store_cycles(kernel);
  const int64_t at_once = std::min<int64_t>(kernel.slices_per_tile, kFreeBuffers);
  const int64_t later = kernel.slices_per_tile - at_once;
  const int64_t last_store_waits =
      kernel.slices_per_tile > 1 ? std::max<int64_t>(store - fill, 0) : 0;
  return {.start = kStart + store + last_store_waits +
                   (traits.cluster_size() > 1 ? kClusterStart : 0) +
                   (traits.cta_group == 2 ? kPairStart : 0),
          .tile = kTileHandOver + at_once * fill + later * std::max(fill, store) +
                  (traits.scheduling == TileScheduling::kLaunchControl ? kAnswer : 0),
          .k_block = k_block_cycles(kernel, ctas)};
}

int64_t modelled_cycles(const GemmKernel& kernel, int64_t m, int64_t n, int64_t k,
                        int multiprocessors) {
  const GemmTraits& traits = kernel.traits;
  const int64_t resident = resident_clusters(multiprocessors, traits.cluster_size());
  if (resident == 0) return std::numeric_limits<int64_t>::max();
  const int64_t rows = ceil_div(m, traits.cluster_rows());
  const int64_t columns = ceil_div(n, traits.cluster_columns());
  const TileRaster raster{static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)};
  if (traits.scheduling == TileScheduling::kLaunchControl &&
      !LaunchControlGrid::of(raster).is_possible(static_cast<uint32_t>(traits.cluster_n))) {
    return std::numeric_limits<int64_t>::max();
  }
  const int64_t clusters = rows * columns;
  // Clusters go on to their next tiles one by one, so all rounds share the bytes of the last one,
  // in which fewer clusters have a tile.
  const int64_t rounds = ceil_div(clusters, resident);
  const GemmCost cost = gemm_cost(kernel, ceil_div(clusters, rounds) * traits.cluster_size());
  return cost.start + rounds * (cost.tile + ceil_div(k, kScaleBlock) * cost.k_block);
}

}  // namespace bw
