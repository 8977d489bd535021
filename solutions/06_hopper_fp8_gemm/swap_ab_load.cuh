#pragma once
/// \file
/// The load warp of a kernel with swap_ab.

#include <cuda.h>

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_config.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_part.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// The load warp: fills the ring. All lanes take every step together, so that addresses are known
/// to be the warp's; one of them acts.
template <class Config>
class SwapAbLoader {
 public:
  /// For the load warp.
  __device__ __forceinline__ SwapAbLoader(const HopperGemmArguments& args,
                                          typename Config::SharedStorage& shared)
      : args_(args), shared_(shared), ring_(shared.barriers) {}

  /// Before anybody else uses the barriers: initialises them, for CTA `rank` of the `split` that
  /// share the tile's K.
  __device__ __forceinline__ void init_barriers(uint32_t rank, uint32_t split) {
    if (ptx::elect_one()) {
      ring_.init_barriers(Config::kProducerArrivals, Config::kConsumerArrivals);
      shared_.sums_arrived.init(Config::kSumsArrivals);
      ptx::fence_mbarrier_init();
      if (split > 1) {
        shared_.sums_arrived.arrive_and_expect_bytes(Config::incoming_bytes(rank, split));
      }
    }
    __syncwarp();
  }

  /// The first stages of the first part, which need no other thread.
  __device__ __forceinline__ void load_first_stages(const SwapAbPart& part) {
    const Source source = source_of(part);
    const uint32_t end = min(part.end, part.first + Config::kFirstStages);
#pragma unroll 1
    for (uint32_t k_block = part.first; k_block < end; ++k_block) load(source, k_block);
  }

  /// The K blocks of a part from `first` on.
  __device__ __forceinline__ void load_rest(const SwapAbPart& part, uint32_t first) {
    const Source source = source_of(part);
#pragma unroll 1
    for (uint32_t k_block = first; k_block < part.end; ++k_block) {
      ring_.wait_consumer();
      load(source, k_block);
    }
  }

 private:
  /// Sources of a part's operands: the values common to all its K blocks. (As values that the
  /// compiler knows to be the warp's; otherwise it computes them again for each.)
  struct Source {
    const CUtensorMap *a, *b, *a_scales;
    int32_t a_row, b_row, row;  ///< of A's box, of B's, of D's tile
    uint32_t stage_bytes;       ///< that its copies bring
  };

  __device__ __forceinline__ Source source_of(const SwapAbPart& part) const {
    const ATileLoad a = args_.a_tile_load(part.row, Config::kTileM);
    return {uniform(a.map),
            uniform(&args_.b),
            uniform(&args_.a_scales),
            static_cast<int32_t>(uniform(a.row)),
            static_cast<int32_t>(part.b_row),
            static_cast<int32_t>(part.row),
            uniform(Config::kStageBytes - (Config::kTileM - a.rows) * Config::kTileK)};
  }

  __device__ __forceinline__ void load(const Source& source, uint32_t k_block) {
    // The consumers read the A-scales by ordinary loads, and TMA is about to overwrite them. (All
    // lanes: ptxas then needs no branch for the one that asks.)
    ptx::fence_proxy_async_shared();
    if (ptx::elect_one()) {
      const uint32_t stage = ring_.producer_stage();
      SharedMemBarrier* const full = ring_.producer_mbar(stage);
      full->arrive_and_expect_bytes(source.stage_bytes);
      const auto k = static_cast<int32_t>(k_block * Config::kTileK);
      ptx::tma_load_2d(ptx::shared_address(shared_.b[stage]), source.b, full->address(), k,
                       source.b_row);
      ptx::tma_load_2d(ptx::shared_address(shared_.a[stage]), source.a, full->address(), k,
                       source.a_row);
      ptx::tma_load_2d(ptx::shared_address(shared_.a_scales[stage]), source.a_scales,
                       full->address(), source.row, static_cast<int32_t>(k_block));
    }
    __syncwarp();
    ring_.producer_step();
  }

  const HopperGemmArguments& args_;
  typename Config::SharedStorage& shared_;
  typename Config::Pipeline ring_;
};

}  // namespace bw::hopper
