#include "common/simulator/units/tensor_core/sparse_metadata.hpp"

#include <fmt/core.h>

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {
namespace {

constexpr unsigned kIndexBits = 4;

bool shares_words(const MmaShape& shape) {
  return shape.kind == MmaKind::f16 || shape.kind == MmaKind::tf32;
}

/// The index of a row (of 16) and chunk.
uint32_t index_of(TensorMemory& memory, bool shared_words, uint32_t lane, uint32_t column,
                  uint32_t row, uint32_t chunk) {
  constexpr uint32_t kHalfRows = kRowBlock / 2, kIndicesOfHalfWord = 4, kIndicesOfWord = 8;
  if (!shared_words) {
    const uint32_t word = memory.column(column + chunk / kIndicesOfWord)[lane + row];
    return word >> chunk % kIndicesOfWord * kIndexBits & 0xfu;
  }
  const uint32_t word =
      memory.column(column)[lane + chunk / kIndicesOfHalfWord * kHalfRows + row % kHalfRows];
  const uint32_t half = row / kHalfRows * kIndicesOfHalfWord;
  return word >> (half + chunk % kIndicesOfHalfWord) * kIndexBits & 0xfu;
}

bool is_meaningful(uint32_t index, MmaKind kind) {
  if (kind == MmaKind::tf32) return index == 0b0100 || index == 0b1110;
  switch (index) {
    case 0b0100:
    case 0b1000:
    case 0b1100:
    case 0b1001:
    case 0b1101:
    case 0b0110:
    case 0b1110:
      return true;
    default:
      return false;
  }
}

}  // namespace

SparseChunks sparse_chunks(const MmaShape& shape) {
  if (shape.kind == MmaKind::tf32) return {shape.k() / 2, 2, 1, 1};
  if (packs_pairs(shape.kind)) return {shape.k() / 8, 8, 4, 2};
  return {shape.k() / 4, 4, 2, shares_words(shape) ? 1u : 2u};
}

std::optional<Fault> read_metadata(TensorMemory& memory, const MmaShape& shape, uint32_t lane,
                                   uint32_t column, bool takes_zero, uint16_t* positions) {
  const SparseChunks chunks = sparse_chunks(shape);
  const bool shared_words = shares_words(shape);
  const uint32_t unit = chunks.elements / 4;  // elements that one position represents, except tf32
  for (uint32_t row = 0; row < kRowBlock; ++row)
    for (uint32_t chunk = 0; chunk < chunks.count; ++chunk) {
      const uint32_t index = index_of(memory, shared_words, lane, column, row, chunk);
      if (!is_meaningful(index, shape.kind) && !(takes_zero && index == 0))
        return Fault{
            .code = FaultCode::sparsity_metadata,
            .what = fmt::format("the sparsity metadata of chunk {} of the row in lane {} is "
                                "{:#06b}, which means nothing",
                                chunk, lane + row, index),
            .rule = shape.kind == MmaKind::tf32
                        ? "the meaningful indices are 0b0100 and 0b1110"
                        : "the meaningful indices are 0b0100, 0b1000, 0b1100, 0b1001, 0b1101, "
                          "0b0110 and 0b1110",
            .fix =
                "write the positions of the two stored elements (or pairs) of each chunk, the "
                "first one in the low bits, and check where the metadata is stored",
            .section = "Sparse Matrices",
            .hardware_accepts = index == 0};
      const uint32_t first = chunk * chunks.elements;
      uint16_t* const out = positions + chunk * chunks.stored * kRowBlock + row;
      if (shape.kind == MmaKind::tf32) {
        out[0] = static_cast<uint16_t>(first + (index == 0b1110 ? 1 : 0));
        continue;
      }
      for (uint32_t i = 0; i < chunks.stored; ++i) {
        const uint32_t position = i < unit ? index & 3u : index >> 2;
        out[i * kRowBlock] = static_cast<uint16_t>(first + position * unit + i % unit);
      }
    }
  return std::nullopt;
}

}  // namespace bw::sim
