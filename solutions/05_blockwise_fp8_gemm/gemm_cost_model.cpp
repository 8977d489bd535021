#include "solutions/05_blockwise_fp8_gemm/gemm_cost_model.hpp"

#include <algorithm>
#include <limits>

#include "common/device/scale_block.cuh"
#include "common/host/ceil_div.hpp"

namespace bw {
namespace {

/// The epilogue promotes an accumulator: tensor memory is read column by column.
int64_t promote_cycles(const GemmKernel& kernel) {
  constexpr int64_t kHandOver = 190;  // waits, A-scale, release
  constexpr int64_t kPerFiveColumns = 16;
  constexpr int64_t kSecondScale = 40;  // choosing between two B-scales
  const int64_t columns_of_a_warp = kernel.accumulator_columns / kernel.traits.epilogue_groups();
  const bool has_two_scales = kScaleBlock % kernel.thread_columns() != 0;
  return kHandOver + columns_of_a_warp * kPerFiveColumns / 5 + (has_two_scales ? kSecondScale : 0);
}

/// From the first MMA of a K block until its accumulator may be overwritten.
int64_t accumulator_cycles(const GemmKernel& kernel) {
  constexpr int64_t kMmasPerKBlock = 4;
  constexpr int64_t kMmaLatency = 150;
  constexpr int64_t kRemoteArrival = 200;
  const GemmTraits& traits = kernel.traits;
  const bool is_half_pair = traits.cta_group == 2 && traits.mma_m == 128;
  const int64_t multiply = kMmasPerKBlock * traits.mma_n / (is_half_pair ? 4 : 2);
  return multiply + kMmaLatency + promote_cycles(kernel) +
         (traits.cta_group == 2 ? kRemoteArrival : 0);
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
  constexpr int64_t kBarriers = 300;
  constexpr int64_t kPerColumn = 5;
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

GemmCost gemm_cost(const GemmKernel& kernel) {
  constexpr int64_t kStart = 1550;        // prologue and the first K block's way
  constexpr int64_t kClusterStart = 400;  // cluster barriers
  constexpr int64_t kPairStart = 300;     // the pair's hand-overs
  constexpr int64_t kTileHandOver = 50;   // the scheduler's message
  constexpr int64_t kFreeBuffers = 2;     // later slices wait for the store before the last
  const int64_t fill = fill_cycles(kernel), store = store_cycles(kernel);
  const int64_t at_once = std::min<int64_t>(kernel.slices_per_tile, kFreeBuffers);
  const int64_t later = kernel.slices_per_tile - at_once;
  const int64_t last_store_waits =
      kernel.slices_per_tile > 1 ? std::max<int64_t>(store - fill, 0) : 0;

  GemmCost cost{};
  cost.start = kStart + store + last_store_waits +
               (kernel.traits.cluster_size() > 1 ? kClusterStart : 0) +
               (kernel.traits.cta_group == 2 ? kPairStart : 0);
  cost.tile = kTileHandOver + at_once * fill + later * std::max(fill, store);
  cost.k_block =
      std::max(promote_cycles(kernel), accumulator_cycles(kernel) / kernel.accumulator_stages);
  return cost;
}

int64_t modelled_cycles(const GemmKernel& kernel, int64_t m, int64_t n, int64_t k,
                        int multiprocessors) {
  const GemmTraits& traits = kernel.traits;
  const int64_t resident = resident_clusters(multiprocessors, traits.cluster_size());
  if (resident == 0) return std::numeric_limits<int64_t>::max();
  const int64_t clusters =
      ceil_div(m, traits.cluster_rows()) * ceil_div(n, traits.cluster_columns());
  const GemmCost cost = gemm_cost(kernel);
  return cost.start +
         ceil_div(clusters, resident) * (cost.tile + ceil_div(k, kScaleBlock) * cost.k_block);
}

}  // namespace bw
