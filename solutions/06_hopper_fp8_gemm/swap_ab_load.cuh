#pragma once
/// \file
/// The load warp of a kernel with swap_ab.

#include <cuda.h>

#include <cstdint>

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_config.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_part.cuh"

namespace bw::hopper {

/// The load warp's elected lane: fills the ring.
template <class Config>
class SwapAbLoader {
 public:
  /// For the load warp.
  __device__ __forceinline__ SwapAbLoader(const HopperGemmArguments& args,
                                          typename Config::SharedStorage& shared,
                                          const SwapAbPart& part)
      : args_(args), shared_(shared), part_(part), ring_(shared.barriers), next_(part.first) {}

  /// Before anybody else uses the barriers: initialises them, and loads the first round, which
  /// needs no other thread.
  __device__ __forceinline__ void begin() {
    ring_.init_barriers(1, kWarpgroupWarps);
    shared_.sums_arrived.init(1);
    ptx::fence_mbarrier_init();
    if (part_.split > 1) shared_.sums_arrived.arrive_and_expect_bytes(Config::kSumsBytes);
    const uint32_t round = min(part_.end, part_.first + Config::kStages);
    while (next_ < round) load();
  }

  /// The rest.
  __device__ __forceinline__ void go_on() {
    while (next_ < part_.end) {
      ring_.wait_consumer();
      // The consumers read the A-scales by ordinary loads, and TMA is about to overwrite them.
      ptx::fence_proxy_async_shared();
      load();
    }
  }

 private:
  __device__ __forceinline__ void load() {
    const uint32_t stage = ring_.producer_stage();
    SharedMemBarrier* const full = ring_.producer_mbar(stage);
    full->arrive_and_expect_bytes(Config::kStageBytes);
    const auto k_block = static_cast<int32_t>(next_), k = k_block * Config::kTileK;
    const auto row = static_cast<int32_t>(part_.row), column = static_cast<int32_t>(part_.column);
    ptx::tma_load_2d(ptx::shared_address(shared_.b[stage]), &args_.b, full->address(), k, column);
    ptx::tma_load_2d(ptx::shared_address(shared_.a[stage]), &args_.a, full->address(), k, row);
    ptx::tma_load_2d(ptx::shared_address(shared_.a_scales[stage]), &args_.a_scales, full->address(),
                     row, k_block);
    ring_.producer_step();
    ++next_;
  }

  const HopperGemmArguments& args_;
  typename Config::SharedStorage& shared_;
  const SwapAbPart& part_;
  typename Config::Pipeline ring_;
  uint32_t next_;
};

}  // namespace bw::hopper
