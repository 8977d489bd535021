#pragma once
/// \file
/// Launching a kernel of chapters 5 and 7: what the device must have, what the runtime must know.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw {

/// Throws Error for a device that isn't of the sm_100 family, has less shared memory or smaller
/// clusters than the kernel needs; tells the runtime what the kernel may use and loads it.
void prepare_gemm_kernel(const GemmKernel& kernel);

/// The grid, in CTAs: with static scheduling as many clusters as the device holds at once, else the
/// raster itself. All CTAs of a cluster are in one GPC, so fewer clusters can fit than the
/// multiprocessors would hold. Throws Error if none fits, and where a grid can't have the raster's
/// extents.
dim3 grid_to_launch(const GemmKernel& kernel, const TileRaster& raster);

/// Enqueues a prepared kernel on `stream`. `arguments`: its only parameter. `is_dependent`: it may
/// start while the stream's previous kernel still runs. Throws Error for what CUDA reports.
void launch_gemm_kernel(const GemmKernel& kernel, dim3 grid, const void* arguments,
                        cudaStream_t stream, bool is_dependent = true);

}  // namespace bw
