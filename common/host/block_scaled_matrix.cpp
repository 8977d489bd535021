#include "common/host/block_scaled_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/device/scale_atom.cuh"
#include "common/host/ceil_div.hpp"
#include "common/host/error.hpp"
#include "common/host/narrow_formats.hpp"
#include "common/host/parallel_for.hpp"

namespace bw {
namespace {

constexpr uint8_t kUe4m3Nan = 0x7f;
constexpr uint8_t kUe4m3Sign = 0x80;

float largest_element(BlockFormat format) {
  return element_bits(format) == 8 ? kFp8E4m3Max : kFp4E2m1Max;
}

// The largest magnitude of a row's elements, which are bf16.
float largest_of_row(const ElementSource& source, int64_t row, int64_t k) {
  float largest = 0;
  for (int64_t column = 0; column < k; ++column) {
    largest = std::max(largest, std::fabs(to_float(to_bf16(source(row, column)))));
  }
  return largest;
}

float largest_of_all(int64_t rows, int64_t k, const ElementSource& source) {
  std::vector<float> largest(rows);
  parallel_for(rows, [&](int64_t row) { largest[row] = largest_of_row(source, row, k); });
  return rows == 0 ? 0 : *std::max_element(largest.begin(), largest.end());
}

// The code of the scale of a block whose largest magnitude is `largest`.
uint8_t scale_code(BlockFormat format, float largest, float factor, ScaleRounding rounding) {
  const float scale = largest / largest_element(format);
  if (!has_ue8m0_scales(format)) return to_fp8_e4m3(scale / factor).bits;
  if (rounding == ScaleRounding::kUp) return to_ue8m0_up(scale).bits;
  // Exponents of the largest elements: 448 = 1.75 * 2^8, 6 = 1.5 * 2^2.
  const float power_of_largest = std::exp2(std::floor(std::log2(largest_element(format))));
  return to_ue8m0_down(largest / power_of_largest).bits;
}

double scale_value(BlockFormat format, uint8_t code) {
  if (has_ue8m0_scales(format)) return to_float(Ue8m0{code});
  if ((code & kUe4m3Sign) != 0) return std::nan("");
  return to_float(Fp8E4m3{code});
}

void put_element(BlockScaledMatrix& matrix, int64_t row, int64_t column, float value) {
  uint8_t* const bytes = matrix.values.data() + row * matrix.row_bytes();
  if (element_bits(matrix.format) == 8) {
    bytes[column] = to_fp8_e4m3(value).bits;
    return;
  }
  constexpr int kHalfBits = 4;
  const int shift = static_cast<int>(column % 2) * kHalfBits;
  bytes[column / 2] = static_cast<uint8_t>(bytes[column / 2] | to_fp4_e2m1(value).bits << shift);
}

void quantise_row(BlockScaledMatrix& matrix, int64_t row, const ElementSource& source,
                  ScaleRounding rounding) {
  const int64_t width = scale_block(matrix.format);
  std::vector<float> block(width);
  for (int64_t index = 0; index < matrix.blocks; ++index) {
    const int64_t begin = index * width, end = std::min(begin + width, matrix.k);
    float largest = 0;
    for (int64_t column = begin; column < end; ++column) {
      block[column - begin] = to_float(to_bf16(source(row, column)));
      largest = std::max(largest, std::fabs(block[column - begin]));
    }
    const uint8_t code = scale_code(matrix.format, largest, matrix.factor, rounding);
    matrix.scales[row * matrix.blocks + index] = code;
    const double scale = scale_value(matrix.format, code) * matrix.factor;
    for (int64_t column = begin; column < end; ++column) {
      const double value = scale == 0 ? 0 : block[column - begin] / scale;
      put_element(matrix, row, column, static_cast<float>(value));
    }
  }
}

}  // namespace

double BlockScaledMatrix::element(int64_t row, int64_t column) const {
  const uint8_t* const bytes = values.data() + row * row_bytes();
  if (element_bits(format) == 8) return to_float(Fp8E4m3{bytes[column]});
  const uint8_t pair = bytes[column / 2];
  return to_float(Fp4E2m1{static_cast<uint8_t>(column % 2 == 0 ? pair & 0xf : pair >> 4)});
}

double BlockScaledMatrix::scale(int64_t row, int64_t block) const {
  return scale_value(format, scales[row * blocks + block]);
}

void validate_block_scaled_k(const char* name, int64_t k, BlockFormat format) {
  constexpr int64_t kRowUnitBytes = 16;
  const int64_t unit =
      std::max<int64_t>(scale_block(format), kRowUnitBytes * 8 / element_bits(format));
  require(k >= 1 && k % unit == 0, name, " is ", k, ": rows are whole blocks of ",
          scale_block(format), " elements with one scale each, and multiples of 16 bytes: give a",
          " positive multiple of ", unit, ".");
}

BlockScaledMatrix quantise_block_scaled(BlockFormat format, int64_t rows, int64_t k,
                                        const ElementSource& source, ScaleRounding rounding) {
  BlockScaledMatrix matrix{.format = format,
                           .rows = rows,
                           .k = k,
                           .blocks = ceil_div(k, scale_block(format)),
                           .values = {},
                           .scales = {}};
  require(k * element_bits(format) % 8 == 0, "A row has ", k,
          " elements of four bits; they are stored in pairs: give an even number.");
  matrix.values.resize(rows * matrix.row_bytes());
  matrix.scales.resize(rows * matrix.blocks);
  if (format == BlockFormat::kNvfp4) matrix.factor = nvfp4_factor(largest_of_all(rows, k, source));
  parallel_for(rows, [&](int64_t row) { quantise_row(matrix, row, source, rounding); });
  return matrix;
}

float nvfp4_factor(double largest_magnitude) {
  const auto largest = static_cast<float>(largest_magnitude);
  return largest == 0 ? 1 : largest / (kFp8E4m3Max * kFp4E2m1Max);
}

BlockScaledMatrix collect_scales(BlockFormat format, int64_t rows, int64_t k,
                                 std::vector<uint8_t> values, const std::vector<uint8_t>& atoms,
                                 float factor) {
  BlockScaledMatrix matrix{.format = format,
                           .rows = rows,
                           .k = k,
                           .blocks = ceil_div(k, scale_block(format)),
                           .values = std::move(values),
                           .scales = {},
                           .factor = factor};
  require(static_cast<int64_t>(atoms.size()) == scale_bytes(rows, matrix.blocks), "The atoms have ",
          atoms.size(), " bytes; ", rows, " rows of ", matrix.blocks, " blocks take ",
          scale_bytes(rows, matrix.blocks), ".");
  const int64_t atoms_along_k = scale_atoms_along_k(matrix.blocks);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t block = 0; block < matrix.blocks; ++block) {
      matrix.scales.push_back(atoms[scale_offset(row, block, atoms_along_k)]);
    }
  }
  return matrix;
}

std::vector<uint8_t> lay_out_scales(const char* name, const BlockScaledMatrix& matrix) {
  std::vector<uint8_t> atoms(scale_bytes(matrix.rows, matrix.blocks));
  const int64_t atoms_along_k = scale_atoms_along_k(matrix.blocks);
  const bool is_ue8m0 = has_ue8m0_scales(matrix.format);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t block = 0; block < matrix.blocks; ++block) {
      const uint8_t code = matrix.scales[row * matrix.blocks + block];
      const bool has_value = is_ue8m0 ? code != kUe8m0Nan : code < kUe4m3Nan;
      require(has_value, "The scale of ", name, "'s row ", row, ", block ", block, " has the code ",
              int{code},
              is_ue8m0 ? ", which is NaN in ue8m0" : ", which is NaN or negative in ue4m3",
              ": it would spoil the whole row of the product; give a code from 0 to ",
              is_ue8m0 ? kUe8m0Nan - 1 : kUe4m3Nan - 1, ".");
      atoms[scale_offset(row, block, atoms_along_k)] = code;
    }
  }
  return atoms;
}

}  // namespace bw
