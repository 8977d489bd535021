#pragma once
/// \file
/// From what the caller gives to what the kernel gets, for the GEMMs of chapters 5 and 6.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/host/ceil_div.hpp"
#include "common/host/tensor_map.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"

namespace bw {

/// Rows and columns of what a configuration's copies move, and of a cluster's output.
struct GemmBoxes {
  /// Rows of A and B in the slice of a tile that one CTA loads.
  int a_rows, b_rows;  ///< of the slice of a tile that one CTA loads
  int a_scales;        ///< of the slice
  /// Rows and columns of a slice of C and D.
  int slice_rows, slice_columns;  ///< of C and D
  int cluster_rows;               ///< rows of D that a cluster computes
  int cluster_columns;            ///< columns of D that a cluster computes
};

namespace detail {

constexpr int kTileK = kScaleBlock;  ///< elements of K in a block

/// How many pieces cover the extent.
inline uint32_t pieces(int64_t extent, int64_t piece) {
  return static_cast<uint32_t>(ceil_div(extent, piece));
}

/// The tensor map of A or B.
inline CUtensorMap operand_map(const char* name, const Fp8E4m3* data, int64_t rows, int64_t k,
                               int64_t stride, int box_rows) {
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                          .element_bytes = sizeof(Fp8E4m3),
                          .inner = static_cast<uint64_t>(k),
                          .outer = static_cast<uint64_t>(rows),
                          .stride_bytes = static_cast<uint64_t>(stride),
                          .box_inner = kTileK,
                          .box_outer = static_cast<uint32_t>(box_rows),
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

/// The swizzle whose width is a row of the box.
constexpr CUtensorMapSwizzle swizzle_of_row(uint32_t row_bytes) {
  switch (row_bytes) {
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

/// The tensor map of C or D.
inline CUtensorMap output_map(const char* name, const void* data, OutputType type,
                              const BlockwiseFp8GemmArguments& g, int64_t stride,
                              const GemmBoxes& boxes) {
  const bool is_bf16 = type == OutputType::kBf16;
  const uint32_t element_bytes = is_bf16 ? sizeof(Bf16) : sizeof(float);
  const auto columns = static_cast<uint32_t>(boxes.slice_columns);
  return make_tensor_map(
      {.name = name,
       .data = data,
       .type = is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
       .element_bytes = element_bytes,
       .inner = static_cast<uint64_t>(g.n),
       .outer = static_cast<uint64_t>(g.m),
       .stride_bytes = static_cast<uint64_t>(stride) * element_bytes,
       .box_inner = columns,
       .box_outer = static_cast<uint32_t>(boxes.slice_rows),
       .swizzle = swizzle_of_row(columns * element_bytes)});
}

}  // namespace detail

/// The arguments of a kernel whose copies move `boxes`. `g` has been validated. Throws Error when
/// the driver refuses a tensor map.
inline GemmKernelArguments make_kernel_arguments(const BlockwiseFp8GemmArguments& g,
                                                 const GemmBoxes& boxes) {
  using detail::pieces;
  GemmKernelArguments arguments{};
  arguments.k_blocks = pieces(g.k, detail::kTileK);
  arguments.a = detail::operand_map("A", g.a, g.m, g.k, g.lda, boxes.a_rows);
  arguments.b = detail::operand_map("B", g.b, g.n, g.k, g.ldb, boxes.b_rows);
  arguments.a_scales = make_tensor_map({.name = "A-scales",
                                        .data = g.a_scales,
                                        .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                        .element_bytes = sizeof(float),
                                        .inner = static_cast<uint64_t>(g.m),
                                        .outer = arguments.k_blocks,
                                        .stride_bytes = g.lda_scales * sizeof(float),
                                        .box_inner = static_cast<uint32_t>(boxes.a_scales),
                                        .box_outer = 1,
                                        .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.has_residual = g.beta != 0;
  if (arguments.has_residual) {
    arguments.c = detail::output_map("C", g.c, OutputType::kBf16, g, g.ldc, boxes);
  }
  arguments.d = detail::output_map("D", g.d, g.output, g, g.ldd, boxes);
  arguments.b_scales = BScaleMatrix{g.b_scales, g.ldb_scales, pieces(g.n, kScaleBlock)};
  arguments.raster =
      TileRaster{pieces(g.m, boxes.cluster_rows), pieces(g.n, boxes.cluster_columns)};
  arguments.beta = g.beta;
  return arguments;
}

}  // namespace bw
