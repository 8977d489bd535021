#pragma once
/// \file
/// How a CTA begins: warps initialise barriers side by side, and no role waits for them before it
/// needs them.

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"

namespace bw::hopper {

/// All threads, first of all. Each warp of the loading warpgroup has a part; then the thread tells
/// the cluster that it has begun, and that its barriers can be used. (Relaxed: the fence after the
/// initialisation is what orders it, PTX ISA, "fence.mbarrier_init".)
template <class Config>
__device__ __forceinline__ void begin_cta(const GemmCta<Config>& cta, uint32_t warp) {
  // (Nested in one `if`, this becomes a table of branch targets, in constant memory that no cache
  // holds yet.)
  if (warp == LoadWarps::kLoad && ptx::elect_one()) cta.args.prefetch_tensor_maps();
  if (warp == LoadWarps::kInitialise && ptx::elect_one()) cta.init_input_barriers();
  const uint32_t warpgroup = warp - LoadWarps::kFirstOutput;
  if (warpgroup < kMathWarpgroups && ptx::elect_one()) cta.init_slot_barriers(warpgroup);
  __syncwarp();
  if constexpr (Config::kClusterSize > 1) {
    ptx::cluster_arrive_relaxed();
  } else {
    __syncthreads();  // takes less time than the cluster's barrier
  }
}

/// All threads, once, before they use a barrier: waits until all CTAs of the cluster have begun and
/// all their barriers are initialised. A CTA that is its own cluster has waited already.
template <class Config>
__device__ __forceinline__ void wait_for_barriers() {
  if constexpr (Config::kClusterSize > 1) ptx::cluster_wait();
}

}  // namespace bw::hopper
