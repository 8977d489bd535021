#pragma once
/// \file
/// Host interface of the blockwise-scaled FP8 GEMM.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/tensor_map.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm_kernel.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"

namespace bw {

/// The configuration of the first form: 128 × 128 × 128 tiles, one CTA per tile.
using DefaultGemmConfig = GemmConfig<128, 128, 4>;

namespace detail {

/// The kernel's arguments: tensor maps of boxes that fit `Config`'s tiles.
template <class Config>
GemmKernelArguments make_kernel_arguments(const BlockwiseFp8GemmArguments& g) {
  const auto operand = [&](const char* name, const Fp8E4m3* data, int64_t rows, int64_t stride,
                           uint32_t tile_rows) {
    return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_UINT8, sizeof(Fp8E4m3),
                            static_cast<uint64_t>(g.k), static_cast<uint64_t>(rows),
                            static_cast<uint64_t>(stride), Config::kTileK, tile_rows,
                            CU_TENSOR_MAP_SWIZZLE_128B});
  };
  const auto output = [&](const char* name, const Bf16* data, int64_t stride) {
    return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(Bf16),
                            static_cast<uint64_t>(g.n), static_cast<uint64_t>(g.m),
                            stride * sizeof(Bf16), Config::kSliceColumns, Config::kTileM,
                            CU_TENSOR_MAP_SWIZZLE_128B});
  };
  const auto tiles = [](int64_t extent, int64_t tile) {
    return static_cast<uint32_t>((extent + tile - 1) / tile);
  };

  GemmKernelArguments arguments{};
  arguments.k_blocks = tiles(g.k, Config::kTileK);
  arguments.a = operand("A", g.a, g.m, g.lda, Config::kTileM);
  arguments.b = operand("B", g.b, g.n, g.ldb, Config::kTileN);
  arguments.a_scales =
      make_tensor_map({"A-scales", g.a_scales, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float),
                       static_cast<uint64_t>(g.m), arguments.k_blocks, g.lda_scales * sizeof(float),
                       Config::kTileM, /*box_outer=*/1, CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.has_residual = g.beta != 0;
  if (arguments.has_residual) arguments.c = output("C", g.c, g.ldc);
  arguments.d = output("D", g.d, g.ldd);
  arguments.b_scales = g.b_scales;
  arguments.b_scales_stride = g.ldb_scales;
  arguments.tiles_m = tiles(g.m, Config::kTileM);
  arguments.tiles_n = tiles(g.n, Config::kTileN);
  arguments.b_scale_rows = tiles(g.n, kScaleBlock);
  arguments.beta = g.beta;
  return arguments;
}

}  // namespace detail

/// Enqueues the GEMM on `stream` and returns; the arguments' memory stays alive until the stream
/// has done it. Throws Error for arguments that validate_gemm_arguments refuses, a device that
/// isn't of the sm_100 family, and what CUDA reports at the launch.
template <class Config = DefaultGemmConfig>
void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  constexpr int kBlackwellMajor = 10;
  validate_gemm_arguments(gemm, Config::kTileM, Config::kTileN);
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  require(major == kBlackwellMajor, "The current device has compute capability ", major,
          ".x; this kernel needs 10.x (Blackwell), or the simulator's runtime, which runs on any"
          " CPU.");

  const GemmKernelArguments arguments = detail::make_kernel_arguments<Config>(gemm);
  const auto kernel = blockwise_fp8_gemm_kernel<Config>;
  constexpr int kSharedBytes = sizeof(typename Config::SharedStorage);
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
      "give the kernel " + std::to_string(kSharedBytes) + " bytes of shared memory");
  const uint32_t tiles = arguments.tiles_m * arguments.tiles_n;
  const uint32_t multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  kernel<<<std::min(tiles, multiprocessors), WarpRoles::kThreads, kSharedBytes, stream>>>(
      arguments);
  check_cuda(cudaGetLastError(), "launch the GEMM");
}

}  // namespace bw
