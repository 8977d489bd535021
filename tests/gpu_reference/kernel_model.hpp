#pragma once
/// \file
/// The tensor cores' model of what a certain kernel of chapter 6 computes: with K summed in the
/// kernel's own order, tile by tile.

#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"
#include "tests/gpu_reference/tensor_core_model.hpp"

namespace bw {

/// How `kernel` divides the last round of pieces of `gemm` on the current device, a Hopper GPU; no
/// piece is split if the kernel never does it.
hopper::StreamKSchedule schedule_of(const BlockwiseFp8GemmArguments& gemm,
                                    const hopper::GemmKernel& kernel);

/// The model's D of `gemm`, dense [m, n], on the device, on the default stream: bit for bit what
/// `kernel` gives on the current device, a Hopper GPU.
DeviceBuffer<Bf16> model_of_kernel(const BlockwiseFp8GemmArguments& gemm,
                                   const hopper::GemmKernel& kernel);

}  // namespace bw
