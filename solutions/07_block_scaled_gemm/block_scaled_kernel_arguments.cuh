#pragma once
/// \file
/// What the host hands to the kernel.

#include <cuda.h>

#include "common/device/tma_load.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_output.hpp"

namespace bw {

/// Kernel arguments, passed by value as a `__grid_constant__`.
struct BlockScaledKernelArguments {
  /// Chapter 5's. `a` and `b`: bytes [rows, bytes of K], box 128 × (rows of a slice), swizzle 128B;
  /// `a_scales`: atoms [ceil(M / 128), atoms along K], box (atoms of a K block) × 1; `b_scales`
  /// isn't used.
  GemmKernelArguments gemm;
  CUtensorMap b_scales;  ///< atoms [ceil(N / 128), atoms along K], box (of a K block) × (of a tile)
  float factor;          ///< of A · Bᵀ: the product of the matrices' factors
  QuantisedOutputArguments quantised;  ///< where D goes, if it isn't bf16

  /// One thread: brings the tensor maps into the descriptor cache.
  __device__ __forceinline__ void prefetch_tensor_maps() const {
    gemm.prefetch_tensor_maps();
    ptx::prefetch_tensormap(&b_scales);
  }
};

/// Units in which the maps of scales count along K: 64 of them are an atom.
constexpr int kScaleMapUnitBytes = 8;

}  // namespace bw
