#pragma once
/// \file
/// Scale factors of the block-scaled kinds in Tensor Memory (PTX ISA, "Block Scaling": "Scale
/// Factor A ID", "Scale Factor B ID").
///
/// The scales of row r of A (or column r of B) are in lane r % 32 and column r / 32 from the base,
/// in 1, 2 or 4 bytes of that word from the scale factor id on, replicated in each of the four
/// quarters of the lanes. With K = 96 they are 3 or 6 bytes that go on in the word which holds the
/// next bytes along K: 4 columns further for up to 128 rows, 8 for more (the layout in which
/// CUTLASS 4.2, tmem_sf_frg, puts them there; the ISA has figures of it). Where the data path is
/// cut in two (cta_group::2 with M = 128), the lower 64 lanes hold the scales of the lower half of
/// N alone and the upper ones those of the upper half (published kernels that run so agree; the
/// ISA's figures show the uncut path).

#include <cstdint>
#include <optional>

#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"

namespace bw::sim {

/// Value of a scale factor; NaN for the code that is. A ue4m3 has no sign: its top bit is ignored
/// here and faulted by read_scales.
[[nodiscard]] float scale_value(uint8_t code, ScaleFormat format);

/// Columns of Tensor Memory that a word of the scales of each of `rows` rows takes.
[[nodiscard]] constexpr uint32_t scale_columns(uint32_t rows) {
  return (rows + kWarpLanes - 1) / kWarpLanes;
}
/// Columns from a word of a row's scales to its next one.
[[nodiscard]] constexpr uint32_t scale_word_stride(uint32_t rows) {
  constexpr uint32_t kRows = 128;
  return (rows + kRows - 1) / kRows * scale_columns(kRows);
}
/// Words that hold `count` scales of a row from byte `id` on.
[[nodiscard]] constexpr uint32_t scale_words(uint32_t id, uint32_t count) {
  constexpr auto kWordBytes = static_cast<uint32_t>(sizeof(uint32_t));
  return (id + count + kWordBytes - 1) / kWordBytes;
}

/// Location of a matrix's scales in one CTA.
struct ScaleMatrix {
  uint32_t column = 0;                      ///< base
  uint32_t id = 0;                          ///< first byte
  uint32_t count = 0;                       ///< of a row: 1, 2, 4; with K = 96 3 or 6
  ScaleFormat format = ScaleFormat::ue8m0;  ///< of a scale
  uint32_t first_lane = 0;                  ///< whose quarter holds the first copy
  uint32_t lanes = 128;                     ///< whose quarters hold copies
};

/// Values of `rows` rows as [row][count]. What is wrong when copies differ or a code has no value:
/// the fault.
[[nodiscard]] std::optional<Fault> read_scales(TensorMemory& memory, const ScaleMatrix& matrix,
                                               uint32_t rows, float* out);

}  // namespace bw::sim
