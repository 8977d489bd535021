#pragma once
/// \file
/// Matrices with one scale for each row and 16 or 32 elements along K: quantised, and with their
/// scales laid out as the tensor core's copies take them.

#include <cstdint>
#include <vector>

#include "common/device/block_format.cuh"
#include "common/host/blockwise_problem.hpp"

namespace bw {

/// How the scale of a block of ue8m0 formats is rounded to a power of two.
enum class ScaleRounding {
  kUp,    ///< up, so that nothing saturates: what NVIDIA's recipes do
  kDown,  ///< floor(log2(largest)) - emax: OCP MX specification 1.0, section 6.3; may saturate
};

/// A matrix [rows, k], row-major, in codes, with its scales as a plain matrix [rows, blocks].
struct BlockScaledMatrix {
  BlockFormat format = BlockFormat::kMxfp8;  ///< of elements and scales
  int64_t rows = 0;                          ///< number of rows
  int64_t k = 0;                             ///< elements of a row
  int64_t blocks = 0;                        ///< scales of a row: ceil(k / scale_block(format))
  std::vector<uint8_t> values;               ///< [rows, row_bytes()], element 0 in the lower half
  std::vector<uint8_t> scales;               ///< codes of the scales, [rows, blocks]
  float factor = 1;                          ///< of the whole matrix; 1 but for NVFP4

  /// Bytes of a row.
  int64_t row_bytes() const { return k * element_bits(format) / 8; }
  /// The element without its scale.
  double element(int64_t row, int64_t column) const;
  /// The scale of a block, without the factor; NaN for a code without a value.
  double scale(int64_t row, int64_t block) const;
};

/// Throws Error unless rows of `k` elements are whole blocks, and whole multiples of the 16 bytes
/// that TMA's rows are. `name`: the option or the matrix, for the sentence.
void validate_block_scaled_k(const char* name, int64_t k, BlockFormat format);

/// Quantises `source`, whose elements are rounded to bf16 before. The largest magnitude of a block
/// maps to at most the largest element. NVFP4's `factor` maps the matrix' largest magnitude to the
/// largest scale (448) times the largest element (6). A block of zeros has the smallest scale.
BlockScaledMatrix quantise_block_scaled(BlockFormat format, int64_t rows, int64_t k,
                                        const ElementSource& source,
                                        ScaleRounding rounding = ScaleRounding::kUp);

/// The scales in atoms (common/device/scale_atom.cuh): scale_bytes(rows, blocks) bytes, zero where
/// the matrix has no row or block. Throws Error for a scale that is NaN or has a sign: one of them
/// makes a whole row of D NaN. `name`: of the matrix, for the sentence.
std::vector<uint8_t> lay_out_scales(const char* name, const BlockScaledMatrix& matrix);

/// The inverse of lay_out_scales, with the codes and the factor that belong to the scales.
BlockScaledMatrix collect_scales(BlockFormat format, int64_t rows, int64_t k,
                                 std::vector<uint8_t> values, const std::vector<uint8_t>& atoms,
                                 float factor = 1);

/// What maps a matrix' largest magnitude to the largest scale (448) times the largest element (6);
/// 1 for a matrix of zeros.
float nvfp4_factor(double largest_magnitude);

}  // namespace bw
