#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM kernel for Hopper: D = A · Bᵀ (scaled per block) + beta · C.
///
///     load warp ──A,B,A-scales──▶ input ring ──▶ two math warpgroups: wgmma, promotion ──▶ slices
///     output warps ──C──▶ slices;  slices ──D──▶ output warps ──▶ global memory
///
/// With direct_output and without C the math warps store D themselves. With split_k partial sums go
/// from CTA to CTA of a cluster, with stream_k from cluster to cluster through global memory.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/register_budget.cuh"
#include "solutions/06_hopper_fp8_gemm/cta_start.cuh"
#include "solutions/06_hopper_fp8_gemm/load_roles.cuh"
#include "solutions/06_hopper_fp8_gemm/math_role.cuh"

namespace bw::hopper {

/// Entry: kThreads threads, clusters of Config::kClusterSize CTAs along x. The grid has any number
/// of clusters (persistent); with split_k one for each tile; with stream_k, where tiles are split,
/// the schedule's, all resident at once. Dynamic shared memory: sizeof(SharedStorage) bytes, whose
/// base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(kThreads, 1) void hopper_fp8_gemm_kernel(
    const __grid_constant__ HopperGemmArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const GemmCta<Config> cta{args,
                            *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared),
                            Config::kClusterSize == 1 ? 0 : ptx::cluster_cta_rank()};
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);
  const uint32_t warpgroup = warp / kWarpgroupWarps;

  begin_cta(cta, warp);
  if (warpgroup == 0) {
    ptx::decrease_registers<Config::kLoadRegisters>();
    if (warp == LoadWarps::kLoad) {
      load_operands(cta);
    } else {
      wait_for_barriers<Config>();
    }
    if constexpr (Config::kSplitK > 1) ptx::cluster_arrive_relaxed();
    if (warp >= LoadWarps::kFirstOutput && warp < LoadWarps::kFirstOutput + kMathWarpgroups &&
        ptx::elect_one()) {
      OutputWarp<Config>(cta, warp - LoadWarps::kFirstOutput).run();
    }
    __syncwarp();
  } else {
    ptx::increase_registers<Config::kMathRegisters>();
    wait_for_barriers<Config>();
    MathWarpgroup<Config>(cta, warpgroup - 1).run();
  }
  // The other CTA reads the sums that this one sends in place, from its memory.
  if constexpr (Config::kSplitK > 1) ptx::cluster_wait();
}

}  // namespace bw::hopper
