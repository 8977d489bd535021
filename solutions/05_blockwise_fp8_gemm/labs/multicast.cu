/// \file
/// Lab: one load for several CTAs. A cluster of 2 × 2 CTAs streams tiles of A, which CTAs side by
/// side share, and of B, which CTAs one above the other share. Each CTA loads half of each and
/// multicasts it to those that share it; thread t multiplies row t of A with row t of B, which
/// stands in for the MMA.
///
/// New against cta_pair: the masks of ClusterLayout, and a stage that is free only when everybody
/// who got a part of it from this CTA has read it.

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/cluster_layout.cuh"
#include "solutions/05_blockwise_fp8_gemm/labs/multicast_problem.hpp"

namespace bw::lab {

constexpr int kStages = 2;
constexpr uint32_t kThreads = kTileRows + ptx::kWarpThreads;
constexpr int kReaderWarps = kTileRows / ptx::kWarpThreads;
constexpr int kSharers = 2 + 2 - 1;  ///< CTAs of the same row or column, this one counted once
using Layout = ClusterLayout</*CtaGroup=*/1, kClusterM, kClusterN>;
using Ring = ProducerConsumerPipeline<kStages>;

struct Shared {
  alignas(1024) uint8_t a[kStages][kTileBytes];
  alignas(1024) uint8_t b[kStages][kTileBytes];
  SharedMemBarrier barriers[Ring::kNumBarriers];
};

/// One lane: this CTA's part of a tile, `slices` of which make the tile, to all CTAs of `mask`.
template <bool multicast>
__device__ __forceinline__ void load_part(uint8_t* tile, const CUtensorMap& map, uint32_t full,
                                          int32_t column, int32_t row, uint32_t part,
                                          uint16_t mask) {
  constexpr int kPartRows = multicast ? kTileRows / 2 : kTileRows;
  const uint32_t first = multicast ? part * kPartRows : 0;
  const uint32_t address = ptx::shared_address(tile + first * kRowBytes);
  if constexpr (multicast) {
    ptx::tma_load_2d_multicast(address, &map, full, column, row + first, mask);
  } else {
    ptx::tma_load_2d(address, &map, full, column, row);
  }
}

template <bool multicast>
__device__ __forceinline__ void load(Ring& ring, Shared& shared, const Layout& place,
                                     const MulticastArguments& args) {
  for (uint32_t block = 0; block < args.blocks; ++block) {
    ring.wait_consumer_cluster();  // threads of other CTAs arrive on empty
    const uint32_t stage = ring.producer_stage(), full = ring.producer_mbar(stage)->address();
    if (ptx::elect_one()) {
      ring.producer_mbar(stage)->arrive_and_expect_bytes(2 * kTileBytes);
      load_part<multicast>(shared.a[stage], args.a, full, block * kRowBytes,
                           place.rank_m * kTileRows, place.rank_n, place.a_multicast_mask());
      load_part<multicast>(shared.b[stage], args.b, full, block * kRowBytes,
                           place.rank_n * kTileRows, place.rank_m, place.b_multicast_mask());
    }
    __syncwarp();
    ring.producer_step();
  }
}

/// Thread t: products of rows t, summed over all blocks.
template <bool multicast>
__device__ __forceinline__ void multiply(Ring& ring, Shared& shared, const Layout& place,
                                         const MulticastArguments& args) {
  const uint32_t lane = threadIdx.x % ptx::kWarpThreads;
  const uint32_t senders = multicast ? place.input_empty_mask() : 1u << place.rank;
  int32_t sum = 0;
  for (uint32_t block = 0; block < args.blocks; ++block) {
    auto stage = ring.consume_explicit();
    sum += dot_of_rows(shared.a[stage.index()], shared.b[stage.index()]);
    ptx::fence_proxy_async_shared();
    __syncwarp();
    if (lane < Layout::kSize && (senders >> lane & 1)) {
      ptx::mbarrier_arrive_cluster(ptx::map_to_cta(stage.mbar()->address(), lane));
    }
  }
  args.sums[place.rank * kTileRows + threadIdx.x] = sum;
}

template <bool multicast>
__global__ __launch_bounds__(kThreads) void multicast_kernel(
    const __grid_constant__ MulticastArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared*>(dynamic_shared);
  const Layout place = Layout::here();
  Ring ring(shared.barriers);
  if (threadIdx.x == 0) {
    ring.init_barriers(1, kReaderWarps * (multicast ? kSharers : 1));
    ptx::fence_mbarrier_init();
  }
  cluster_sync<Layout::kSize>();  // nobody sends to barriers that aren't initialised
  if (threadIdx.x < kTileRows) {
    multiply<multicast>(ring, shared, place, args);
  } else {
    load<multicast>(ring, shared, place, args);
  }
  cluster_sync<Layout::kSize>();  // nobody exits while others send to it
}

}  // namespace bw::lab

int main(int argc, char** argv) {
  bw::lab::MulticastOptions options;
  bw::CommandLine command_line("Tiles for a cluster of 2 x 2 CTAs, verified exactly.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_05_multicast", argc, argv, [&] {
    using bw::lab::multicast_kernel;
    const bool multicast = options.multicast == 0;
    return bw::lab::run_multicast_lab(options,
                                      multicast ? multicast_kernel<true> : multicast_kernel<false>,
                                      bw::lab::kThreads, sizeof(bw::lab::Shared));
  });
}
