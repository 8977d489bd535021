#pragma once
/// \file
/// What the host hands to the Hopper kernel.

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/06_hopper_fp8_gemm/fast_raster.cuh"
#include "solutions/06_hopper_fp8_gemm/group_schedule.cuh"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {

/// Global memory of a kernel with `stream_k`, for one launch at a time.
struct StreamKWorkspace {
  /// [CTAs of the grid][tile_m · tile_n], in the kernel's own order; 16-byte aligned.
  float* partial_sums = nullptr;
  /// [CTAs][math warps]: 0 before a launch, and after it.
  uint32_t* flags = nullptr;
};

/// What a kernel with `stream_k` gets beside the rest.
struct StreamKArguments {
  StreamKSchedule schedule;    ///< which pieces a cluster computes
  StreamKWorkspace workspace;  ///< where helpers leave partial sums
};

/// Where C and D are, for accesses that don't go through TMA.
struct DirectOutput {
  uint16_t* d = nullptr;        ///< bf16 [m, ldd]
  uint64_t ldd = 0;             ///< elements from row to row of D
  const uint16_t* c = nullptr;  ///< bf16 [m, ldc]; null without a residual
  uint64_t ldc = 0;             ///< elements from row to row of C
  uint32_t m = 0;               ///< rows of D
  uint32_t n = 0;               ///< columns of D
};

/// Kernel arguments of chapter 6, passed by value as a `__grid_constant__`.
struct HopperGemmArguments : GemmKernelArguments {
  FastRaster fast_raster;     ///< of `raster`
  DirectOutput direct;        ///< for tiles that are written without TMA
  StreamKArguments stream_k;  ///< how the last round is shared
  GroupSchedule groups;       ///< of a kernel with `grouped`
};

}  // namespace bw::hopper
