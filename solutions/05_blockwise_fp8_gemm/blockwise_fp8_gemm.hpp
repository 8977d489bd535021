#pragma once
/// \file
/// Host interface of the blockwise-scaled FP8 GEMM.

#include <cuda_runtime_api.h>

#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw {

/// Enqueues the GEMM on `stream`, with the kernel that choose_gemm_kernel finds for its shape, and
/// returns; the arguments' memory stays alive until the stream has done it. Throws Error for
/// arguments that validate_gemm_arguments refuses, a device that isn't of the sm_100 family, and
/// what CUDA reports at the launch.
///
/// The kernel may start while the stream's previous kernel still runs (programmatic dependent
/// launch); it reads and writes nothing before that one is complete.
/// The simulator executes grids one after the other and overlaps them in simulated time only, so a
/// missing wait changes no result there; dependency_wait_test.py looks for one in the PTX.
void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream);

/// The same with a kernel of the caller's choice. Throws Error also when its output type isn't the
/// arguments', and when the device has less shared memory or smaller clusters than it needs.
void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream);

}  // namespace bw
