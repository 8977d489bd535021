#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM kernel: D = A · Bᵀ (scaled per block) + beta · C.
///
///     load warp ──A,B,A-scales──▶ input ring ──▶ MMA warp ──▶ accumulator ring ──▶ epilogue ──▶ D
///     epilogue-load warp ──C──▶ C ring ─────────────────────────────────────────────▲
///     scheduler warp ──work tiles──▶ every role

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/register_budget.cuh"
#include "solutions/05_blockwise_fp8_gemm/epilogue_role.cuh"
#include "solutions/05_blockwise_fp8_gemm/load_roles.cuh"
#include "solutions/05_blockwise_fp8_gemm/mma_role.cuh"

namespace bw {

/// The calling warp's role, from the first tile to the last.
template <class Config>
__device__ __forceinline__ void run_role(const GemmCta<Config>& cta, uint32_t warp) {
  using Roles = typename Config::Roles;
  if (Roles::is_epilogue(warp)) {
    if constexpr (Roles::kMovesRegisters) ptx::increase_registers<Roles::kEpilogueRegisters>();
    return write_tiles(cta);
  }
  if constexpr (Roles::kMovesRegisters) ptx::decrease_registers<Roles::kOtherRegisters>();
  switch (warp) {
    case Roles::kSchedulerWarp:
      return cta.tile_scheduler().publish_all();
    case Roles::kLoadWarp:
      return load_operands(cta);
    case Roles::kMmaWarp:
      return multiply(cta);
    default:
      return load_residual(cta);
  }
}

/// Entry: Config::Roles::kThreads threads, clusters of `traits`' shape. The grid is (clusters ·
/// cluster_m, cluster_n): with static scheduling any number of clusters (persistent), with launch
/// control one per piece of the raster. sizeof(SharedStorage) bytes of dynamic shared memory,
/// whose base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(Config::Roles::kThreads, 1) void blockwise_fp8_gemm_kernel(
    const __grid_constant__ GemmKernelArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const GemmCta<Config> cta{args,
                            *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared),
                            Config::Cluster::here()};
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);

  using Roles = typename Config::Roles;
  if (warp == Roles::kSchedulerWarp && ptx::elect_one()) cta.init_barriers();
  if (warp == Roles::kLoadWarp && ptx::elect_one()) cta.args.prefetch_tensor_maps();
  cluster_sync<Config::Cluster::kSize>();  // barriers are initialised in all CTAs

  run_role(cta, warp);

  // A CTA's shared memory must outlive what others send to it.
  if constexpr (Config::Cluster::kSize > 1) cluster_sync<Config::Cluster::kSize>();
}

}  // namespace bw
