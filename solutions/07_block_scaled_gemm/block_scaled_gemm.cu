#include "solutions/07_block_scaled_gemm/block_scaled_gemm.hpp"

#include <cmath>

#include "common/device/scale_atom.cuh"
#include "common/host/block_scaled_matrix.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/gemm_checks.hpp"
#include "common/host/require.hpp"
#include "common/host/tensor_map.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_launch.hpp"
#include "solutions/05_blockwise_fp8_gemm/make_kernel_arguments.hpp"
#include "solutions/07_block_scaled_gemm/operand_bytes_map.hpp"

namespace bw {
namespace {

void validate_scales(const char* name, const uint8_t* scales, int64_t bytes, int64_t rows,
                     int64_t blocks) {
  constexpr uintptr_t kAlignment = 16;
  const int64_t expected = scale_bytes(rows, blocks);
  require(scales != nullptr, "The scales of ", name, " are a null pointer; give a device address.");
  require(reinterpret_cast<uintptr_t>(scales) % kAlignment == 0, "The scales of ", name,
          " start at ", static_cast<const void*>(scales),
          "; TMA needs an address that is a multiple of 16 bytes.");
  require(
      bytes == expected, "The scales of ", name, " have ", bytes, " bytes; ", rows, " rows of ",
      blocks, " blocks take ", expected,
      ": they are stored in whole atoms of 128 rows x 4 blocks, 512 bytes each, even for a matrix"
      " below one atom. Lay them out with lay_out_scales.");
}

/// A row of this map is all of K for 128 rows of the matrix. What is outside reads as zero: the
/// scale 2^-127 or 0, never NaN.
CUtensorMap scale_map(const char* name, const uint8_t* scales, BlockFormat format, int64_t rows,
                      int64_t k, int box_parts) {
  const int64_t atoms = scale_atoms_along_k(ceil_div(k, scale_block(format)));
  constexpr int64_t kAtomUnits = kScaleAtomBytes / kScaleMapUnitBytes;
  return make_tensor_map(
      {.name = name,
       .data = scales,
       .type = CU_TENSOR_MAP_DATA_TYPE_UINT64,
       .element_bytes = kScaleMapUnitBytes,
       .inner = static_cast<uint64_t>(atoms * kAtomUnits),
       .outer = static_cast<uint64_t>(scale_atoms_along_rows(rows)),
       .stride_bytes = static_cast<uint64_t>(atoms * kScaleAtomBytes),
       .box_inner = static_cast<uint32_t>(scale_atoms_per_k_block(format) * kAtomUnits),
       .box_outer = static_cast<uint32_t>(box_parts),
       .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
}

CUtensorMap bf16_map(const char* name, const Bf16* data, const BlockScaledGemmArguments& g,
                     int64_t stride, const GemmKernel& kernel) {
  const auto columns = static_cast<uint32_t>(kernel.slice_columns);
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                          .element_bytes = sizeof(Bf16),
                          .inner = static_cast<uint64_t>(g.n),
                          .outer = static_cast<uint64_t>(g.m),
                          .stride_bytes = static_cast<uint64_t>(stride) * sizeof(Bf16),
                          .box_inner = columns,
                          .box_outer = static_cast<uint32_t>(kernel.traits.cta_rows()),
                          .swizzle = detail::swizzle_of_row(columns * sizeof(Bf16))});
}

QuantisedOutputArguments quantised_arguments(const QuantisedOutput& out, int64_t m, int64_t n) {
  const int64_t blocks = n / scale_block(out.format);
  return {.values = out.values,
          .stride = out.stride,
          .scales = out.scales,
          .rows = static_cast<uint32_t>(m),
          .blocks = static_cast<uint32_t>(blocks),
          .atoms_along_rows = static_cast<uint32_t>(scale_atoms_along_rows(m)),
          .atoms_along_k = static_cast<uint32_t>(scale_atoms_along_k(blocks)),
          .inverse_factor = 1 / out.factor,
          .format = out.format};
}

void validate_quantised_output(const QuantisedOutput& out, int64_t m, int64_t n) {
  require(out.format != BlockFormat::kMxfp4,
          "D can't be quantised to mxfp4; choose mxfp8 or nvfp4, or bf16.");
  validate_block_scaled_k("N, which is the K of a GEMM that goes on with D,", n, out.format);
  validate_tma_matrix("D", out.values, n * element_bits(out.format) / 8, out.stride, 1);
  validate_scales("D", out.scales, out.scale_bytes, m, n / scale_block(out.format));
  require(std::isfinite(out.factor) && out.factor > 0 && std::isfinite(1 / out.factor),
          "The factor of D is ", out.factor,
          "; the kernel divides D by it: give a positive number whose reciprocal is finite.");
  require(out.format == BlockFormat::kNvfp4 || out.factor == 1, "The factor of D is ", out.factor,
          "; MXFP8 has scales only: give 1, or choose nvfp4.");
}

BlockScaledKernelArguments kernel_arguments(const BlockScaledGemmArguments& g,
                                            const BlockScaledKernel& kernel) {
  const GemmTraits& traits = kernel.gemm.traits;
  const int64_t row_bytes = g.k * element_bits(g.format) / 8;
  BlockScaledKernelArguments arguments{};
  GemmKernelArguments& gemm = arguments.gemm;
  gemm.a = operand_bytes_map("A", g.a, g.m, row_bytes, g.a_stride,
                             traits.cta_rows() / traits.a_slices());
  gemm.b = operand_bytes_map("B", g.b, g.n, row_bytes, g.b_stride,
                             traits.cta_b_rows() / traits.b_slices());
  gemm.a_scales = scale_map("scales of A", g.a_scales, g.format, g.m, g.k, /*box_parts=*/1);
  arguments.b_scales =
      scale_map("scales of B", g.b_scales, g.format, g.n, g.k, kernel.b_scale_parts);
  gemm.has_residual = g.beta != 0;
  if (gemm.has_residual) gemm.c = bf16_map("C", g.c, g, g.ldc, kernel.gemm);
  if (g.quantised) {
    arguments.quantised = quantised_arguments(*g.quantised, g.m, g.n);
    gemm.d = gemm.a;  // prefetched like the other maps, but not used
  } else {
    gemm.d = bf16_map("D", g.d, g, g.ldd, kernel.gemm);
  }
  gemm.raster = TileRaster{detail::pieces(g.m, traits.cluster_rows()),
                           detail::pieces(g.n, traits.cluster_columns())};
  gemm.k_blocks = detail::pieces(g.k, block_k(g.format));
  gemm.beta = g.beta;
  arguments.factor = g.factor;
  return arguments;
}

}  // namespace

void validate_block_scaled_arguments(const BlockScaledGemmArguments& g) {
  validate_gemm_shape(g.m, g.n, g.k);
  validate_block_scaled_k("K", g.k, g.format);
  const int64_t row_bytes = g.k * element_bits(g.format) / 8;
  const int64_t blocks = g.k / scale_block(g.format);
  validate_tma_matrix("A", g.a, row_bytes, g.a_stride, 1);
  validate_tma_matrix("B", g.b, row_bytes, g.b_stride, 1);
  validate_scales("A", g.a_scales, g.a_scale_bytes, g.m, blocks);
  validate_scales("B", g.b_scales, g.b_scale_bytes, g.n, blocks);
  if (g.quantised) {
    validate_quantised_output(*g.quantised, g.m, g.n);
  } else {
    validate_tma_matrix("D", g.d, g.n, g.ldd, sizeof(Bf16));
  }
  require(std::isfinite(g.factor), "The factor of the product is ", g.factor,
          "; every element of D would be NaN or infinite: give a finite number.");
  require(g.beta == 0 || g.c != nullptr, "beta is ", g.beta,
          " but C is a null pointer; give C, or beta = 0.");
  if (g.beta != 0) validate_tma_matrix("C", g.c, g.n, g.ldc, sizeof(Bf16));
  require(g.quantised || g.beta == 0 || g.d != g.c || g.ldc == g.ldd,
          "D is C itself, but their leading dimensions (", g.ldd, " and ", g.ldc,
          ") differ: tiles would overwrite what others still read. Give D memory of its own.");
}

PreparedBlockScaledGemm::PreparedBlockScaledGemm(const BlockScaledGemmArguments& gemm,
                                                 const BlockScaledKernel& kernel)
    : kernel_(kernel) {
  validate_block_scaled_arguments(gemm);
  require(kernel.traits.format == gemm.format, "The configuration ", kernel.name, " isn't one of ",
          block_format_names()[static_cast<int>(gemm.format)],
          ", the format of the arguments: choose one whose name begins with it.");
  prepare_gemm_kernel(kernel.gemm);
  arguments_ = kernel_arguments(gemm, kernel);
  grid_ = grid_to_launch(kernel.gemm, arguments_.gemm.raster);
}

void PreparedBlockScaledGemm::launch(cudaStream_t stream) const {
  launch_gemm_kernel(kernel_.gemm, grid_, &arguments_, stream);
}

}  // namespace bw
