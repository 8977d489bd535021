#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM kernel: D = A · Bᵀ (scaled per block) + beta · C.
///
///     load warp ──A,B,A-scales──▶ input ring ──▶ MMA warp ──▶ accumulator ring ──▶ epilogue ──▶ D
///     epilogue-load warp ──C──▶ C ring ─────────────────────────────────────────────▲
///     scheduler warp ──work tiles──▶ every role

#include <cstdint>

#include "common/device/elect.cuh"
#include "solutions/05_blockwise_fp8_gemm/epilogue_role.cuh"
#include "solutions/05_blockwise_fp8_gemm/load_roles.cuh"
#include "solutions/05_blockwise_fp8_gemm/mma_role.cuh"

namespace bw {

/// The calling warp's role, from the first tile to the last.
template <class Config>
__device__ __forceinline__ void run_role(const GemmCta<Config>& cta, uint32_t warp) {
  switch (warp) {
    case WarpRoles::kSchedulerWarp:
      return cta.tile_scheduler().publish_all();
    case WarpRoles::kLoadWarp:
      return load_operands(cta);
    case WarpRoles::kMmaWarp:
      return multiply(cta);
    case WarpRoles::kEpilogueLoadWarp:
      return load_residual(cta);
    default:
      return write_tiles(cta);
  }
}

/// Entry: WarpRoles::kThreads threads, clusters of `traits`' shape. The grid is (clusters ·
/// cluster_m, cluster_n): with static scheduling any number of clusters (persistent), with launch
/// control one per piece of the raster. sizeof(SharedStorage) bytes of dynamic shared memory,
/// whose base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(WarpRoles::kThreads, 1) void blockwise_fp8_gemm_kernel(
    const __grid_constant__ GemmKernelArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const GemmCta<Config> cta{args,
                            *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared),
                            Config::Cluster::here()};
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);

  if (warp == WarpRoles::kSchedulerWarp && ptx::elect_one()) cta.init_barriers();
  if (warp == WarpRoles::kLoadWarp && ptx::elect_one()) cta.prefetch_tensor_maps();
  cluster_sync<Config::Cluster::kSize>();  // barriers are initialised in all CTAs

  run_role(cta, warp);

  // A CTA's shared memory must outlive what others send to it.
  if constexpr (Config::Cluster::kSize > 1) cluster_sync<Config::Cluster::kSize>();
}

}  // namespace bw
