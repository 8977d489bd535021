#include "common/simulator/units/tensor_core/block_scaling.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include <fmt/core.h>

#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim {
namespace {

constexpr uint8_t kUe8m0Nan = 0xff;
constexpr uint8_t kUe4m3Sign = 0x80;
constexpr unsigned kByteBits = 8;

constexpr uint8_t byte_of(uint32_t word, uint32_t index) {
  return static_cast<uint8_t>(word >> index * kByteBits);
}

/// The copies of a row's scales are not the same.
Fault copies_differ(uint32_t row, uint32_t column, uint32_t lane, uint32_t word,
                    uint32_t other_lane, uint32_t other) {
  return {.code = FaultCode::scale_factors,
          .what = fmt::format("the scale factors of row {} in column {} differ between lane {} "
                              "({:#x}) and lane {} ({:#x})",
                              row, column, lane, word, other_lane, other),
          .rule = "scale factors are duplicated to all 32-lane partitions of Tensor Memory",
          .fix =
              "copy them with tcgen05.cp.32x128b.warpx4 (a cut data path: "
              ".64x128b.warpx2::01_23), or store them in all four quarters",
          .section = "Block Scaling for tcgen05.mma.sync"};
}

}  // namespace

float scale_value(uint8_t code, ScaleFormat format) {
  if (format == ScaleFormat::ue8m0) {
    constexpr uint32_t kQuietNan = 0x7fc00000u, kHalfOfSmallestNormal = 0x00400000u;
    if (code == kUe8m0Nan) return std::bit_cast<float>(kQuietNan);
    // 2^(code - 127): the exponent field of fp32, but for 2^-127, which is subnormal there.
    return std::bit_cast<float>(code == 0 ? kHalfOfSmallestNormal : uint32_t{code} << 23);
  }
  const auto raw = static_cast<std::byte>(code & ~kUe4m3Sign);
  float value = 0;
  decode_elements(MmaFormat::e4m3, &raw, &value, 1);
  return value;
}

std::optional<Fault> read_scales(TensorMemory& memory, const ScaleMatrix& matrix, uint32_t rows,
                                 float* out) {
  constexpr uint32_t kQuarter = kWarpLanes, kWordBytes = sizeof(uint32_t);
  const uint32_t end = matrix.id + matrix.count;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t first = 0; first < end; first += kWordBytes) {
      // The bytes [begin, last) of this word are scales.
      const uint32_t begin = first < matrix.id ? matrix.id - first : 0;
      const uint32_t last = std::min(end - first, kWordBytes);
      const uint32_t up_to_last = last == kWordBytes ? ~0u : (1u << last * kByteBits) - 1;
      const uint32_t used = up_to_last & ~0u << begin * kByteBits;
      const uint32_t column =
          matrix.column + row / kQuarter + first / kWordBytes * scale_word_stride(rows);
      const uint32_t within = row % kQuarter;
      const uint32_t* const lanes = memory.column(column);
      const uint32_t word = lanes[matrix.first_lane + within];
      for (uint32_t lane = matrix.first_lane + within + kQuarter;
           lane < matrix.first_lane + matrix.lanes; lane += kQuarter)
        if (((lanes[lane] ^ word) & used) != 0)
          return copies_differ(row, column, matrix.first_lane + within, word & used, lane,
                               lanes[lane] & used);
      for (uint32_t byte = begin; byte < last; ++byte) {
        const uint8_t code = byte_of(word, byte);
        if (matrix.format == ScaleFormat::ue4m3 && (code & kUe4m3Sign) != 0)
          return Fault{.code = FaultCode::scale_factors,
                       .what = fmt::format("the scale factor {:#x} of row {} has its top bit set",
                                           code, row),
                       .rule = "a scale factor of type ue4m3 has no sign",
                       .fix = "store scale factors without a sign",
                       .section = "Alternate Floating-Point Data Formats"};
        out[row * matrix.count + first + byte - matrix.id] = scale_value(code, matrix.format);
      }
    }
  return std::nullopt;
}

}  // namespace bw::sim
