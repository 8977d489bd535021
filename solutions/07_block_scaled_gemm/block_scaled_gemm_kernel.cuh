#pragma once
/// \file
/// The block-scaled GEMM kernel: D = factor · (A · scales) (B · scales)ᵀ + beta · C.
///
///     load warp ──A, B, SFA, SFB──▶ input ring ──▶ MMA warp ──▶ accumulators ──▶ epilogue ──▶ D
///                                                   │    ▲
///                                                   └ SFA, SFB in tensor memory
///     epilogue-load warp ──C──▶ C ring ─────────────────────────────────────────────▲
///     scheduler warp ──work tiles──▶ every role

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/register_budget.cuh"
#include "solutions/07_block_scaled_gemm/scaled_epilogue_role.cuh"
#include "solutions/07_block_scaled_gemm/scaled_load_role.cuh"
#include "solutions/07_block_scaled_gemm/scaled_mma_role.cuh"

namespace bw {

/// The calling warp's role, from the first tile to the last. The epilogue comes last, so that its
/// loops for a quantised D are the end of the kernel's code: the instruction caches get the other
/// roles first.
template <class Config>
__device__ __forceinline__ void run_scaled_role(const BlockScaledCta<Config>& cta, uint32_t warp) {
  using Roles = typename Config::Roles;
  if (!Roles::is_epilogue(warp)) {
    if constexpr (Roles::kMovesRegisters) ptx::decrease_registers<Roles::kOtherRegisters>();
    switch (warp) {
      case Roles::kSchedulerWarp:
        return cta.tile_scheduler().publish_all();
      case Roles::kLoadWarp:
        return load_scaled_operands(cta);
      case Roles::kMmaWarp:
        return multiply_scaled(cta);
      default:
        return load_residual<Config>(cta);
    }
  }
  if constexpr (Roles::kMovesRegisters) ptx::increase_registers<Roles::kEpilogueRegisters>();
  write_scaled_tiles(cta);
}

/// Entry, with the grid, threads and shared memory of chapter 5's kernel.
template <class Config>
__global__ __launch_bounds__(Config::Roles::kThreads, 1) void block_scaled_gemm_kernel(
    const __grid_constant__ BlockScaledKernelArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared);
  const BlockScaledCta<Config> cta{{args.gemm, shared, Config::Cluster::here()}, args};
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);

  using Roles = typename Config::Roles;
  if (warp == Roles::kSchedulerWarp && ptx::elect_one()) cta.init_barriers();
  if (warp == Roles::kLoadWarp && ptx::elect_one()) args.prefetch_tensor_maps();
  cluster_sync<Config::Cluster::kSize>();  // barriers are initialised in all CTAs

  run_scaled_role(cta, warp);

  // A CTA's shared memory must outlive what others send to it.
  if constexpr (Config::Cluster::kSize > 1) cluster_sync<Config::Cluster::kSize>();
}

}  // namespace bw
