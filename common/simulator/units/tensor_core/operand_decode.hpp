#pragma once
/// \file
/// Elements of A and B as stored in memory, turned into fp32 values (exact for every format).

#include <cstddef>
#include <cstdint>

#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

namespace bw::sim {

/// Decodes `count` elements of `format` from containers of container_bytes(format) each. 6- and
/// 4-bit codes are in the low bits of their byte. tf32 ignores the low 13 bits. NaN codes give a
/// quiet NaN.
void decode_elements(MmaFormat format, const std::byte* raw, float* out, size_t count);

/// Decodes `count` codes of e4m3 or e5m2 to pairs of bf16, which is exact: each code of an even row
/// of `lanes` codes (1 or 16) in the upper half of a word, and the one of the next row that has its
/// lane in the lower half. False, and nothing is written, if one is an infinity or a NaN.
[[nodiscard]] bool decode_pairs(MmaFormat format, const uint8_t* codes, size_t lanes, float* out,
                                size_t count);

/// Spreads 16 packed 6- or 4-bit elements (12 or 8 bytes, then padding) over 16 bytes, code in the
/// low bits: how kind::f8f6f4 and tcgen05.cp read .b6x16_p32 and .b4x16_p64 (PTX ISA, "Packed data
/// types").
void unpack_packed_chunk(unsigned element_bits, const std::byte* packed, std::byte* codes);

/// Spreads `bytes` bytes of two 4-bit codes each, the first one in the low half, over twice as many
/// bytes: how kind::mxf4 and kind::mxf4nvf4 hold their elements.
void unpack_pairs(const std::byte* packed, size_t bytes, std::byte* codes);

/// Bits of one element: 4, 6 or 8 for the formats of kind::f8f6f4.
[[nodiscard]] constexpr unsigned element_bits(MmaFormat format) {
  switch (format) {
    case MmaFormat::e2m1:
      return 4;
    case MmaFormat::e2m3:
    case MmaFormat::e3m2:
      return 6;
    case MmaFormat::f16:
    case MmaFormat::bf16:
      return 16;
    case MmaFormat::tf32:
      return 32;
    default:
      return 8;
  }
}

/// Whether elements are of e4m3 or e5m2.
[[nodiscard]] constexpr bool is_fp8(MmaFormat format) {
  return format == MmaFormat::e4m3 || format == MmaFormat::e5m2;
}

/// Transposes `rows` = 16 rows of `columns` elements into [column][16].
/// `element_bytes` is 1, 2 or 4; `columns` of one-byte elements is a multiple of 8.
void transpose_row_block(const std::byte* rows, size_t row_stride_bytes, std::byte* out,
                         size_t columns, size_t element_bytes);

/// f32 to f16, round to nearest even; a NaN keeps its sign and the upper bits of its payload.
[[nodiscard]] uint16_t half_from_float(float value);
/// Exactly.
[[nodiscard]] float float_from_half(uint16_t bits);
/// As half_from_float, with the one NaN that tensor cores give as f16.
[[nodiscard]] uint16_t tensor_core_half(float value);

}  // namespace bw::sim
