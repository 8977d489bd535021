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
      ring_.init_barriers(1, kWarpgroupWarps);
      shared_.sums_arrived.init(1);
      ptx::fence_mbarrier_init();
      if (split > 1) {
        shared_.sums_arrived.arrive_and_expect_bytes(Config::incoming_bytes(rank, split));
      }
    }
    __syncwarp();
  }

  /// The first stages of the first part, which need no other thread.
  __device__ __forceinline__ void load_first_stages(const SwapAbPart& part) {
    const uint32_t end = min(part.end, part.first + Config::kFirstStages);
    for (uint32_t k_block = part.first; k_block < end; ++k_block) load(part, k_block);
  }

  /// The K blocks of a part from `first` on.
  __device__ __forceinline__ void load_rest(const SwapAbPart& part, uint32_t first) {
    for (uint32_t k_block = first; k_block < part.end; ++k_block) {
      ring_.wait_consumer();
      load(part, k_block);
    }
  }

 private:
  __device__ __forceinline__ void load(const SwapAbPart& part, uint32_t k_block) {
    if (ptx::elect_one()) {
      // The consumers read the A-scales by ordinary loads, and TMA is about to overwrite them.
      ptx::fence_proxy_async_shared();
      const uint32_t stage = ring_.producer_stage();
      SharedMemBarrier* const full = ring_.producer_mbar(stage);
      const ATileLoad a = args_.a_tile_load(part.row, Config::kTileM);
      full->arrive_and_expect_bytes(Config::kStageBytes -
                                    (Config::kTileM - a.rows) * Config::kTileK);
      const auto k = static_cast<int32_t>(k_block * Config::kTileK);
      const auto row = static_cast<int32_t>(part.row), b_row = static_cast<int32_t>(part.b_row);
      ptx::tma_load_2d(ptx::shared_address(shared_.b[stage]), &args_.b, full->address(), k, b_row);
      ptx::tma_load_2d(ptx::shared_address(shared_.a[stage]), a.map, full->address(), k,
                       static_cast<int32_t>(a.row));
      ptx::tma_load_2d(ptx::shared_address(shared_.a_scales[stage]), &args_.a_scales,
                       full->address(), row, static_cast<int32_t>(k_block));
    }
    __syncwarp();
    ring_.producer_step();
  }

  const HopperGemmArguments& args_;
  typename Config::SharedStorage& shared_;
  typename Config::Pipeline ring_;
};

}  // namespace bw::hopper
