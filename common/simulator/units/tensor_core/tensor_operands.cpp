#include "common/simulator/units/tensor_core/tensor_operands.hpp"

#include <cstring>

#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim {
namespace {

bool is_padded(ElementLayout layout) { return !layout.pairs && element_bits(layout.format) < 8; }

/// 16 bytes as stored in memory to containers: 16 or, of pairs, 32 bytes.
void copy_chunk(const std::byte* source, ElementLayout layout, std::byte* out) {
  if (layout.pairs)
    unpack_pairs(source, kChunkBytes, out);
  else if (is_padded(layout))
    unpack_packed_chunk(element_bits(layout.format), source, out);
  else
    std::memcpy(out, source, kChunkBytes);
}

void fetch_k_major(const std::byte* shared, const MatrixDescriptor& descriptor,
                   ElementLayout layout, uint32_t rows, uint32_t chunks, std::byte* out,
                   size_t stride) {
  const uint32_t step = layout.unpacked(kChunkBytes);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t chunk = 0; chunk < chunks; ++chunk)
      copy_chunk(shared + descriptor.k_major_chunk(row, chunk), layout,
                 out + row * stride + chunk * step);
}

/// The swizzled K-major case that production kernels use: address bits 7 to 9
/// come from the row alone.
void fetch_k_major_128b(const std::byte* shared, MatrixDescriptor descriptor, uint32_t rows,
                        std::byte* out, size_t stride) {
  descriptor.swizzle = SharedSwizzle::k128b;  // so that the compiler knows it too
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t address =
        descriptor.start_bytes + row / 8 * descriptor.stride_bytes + row % 8 * 128;
    std::memcpy(out + row * stride, shared + descriptor.swizzled(address), kChunkBytes);
    std::memcpy(out + row * stride + kChunkBytes,
                shared + descriptor.swizzled(address + kChunkBytes), kChunkBytes);
  }
}

void fetch_mn_major(const std::byte* shared, const MatrixDescriptor& descriptor,
                    ElementLayout layout, uint32_t rows, uint32_t k_bytes, std::byte* out,
                    size_t stride) {
  const uint32_t bytes = container_bytes(layout.format);
  const uint32_t per_chunk = kChunkBytes / bytes, k_elements = k_bytes / bytes;
  for (uint32_t first = 0; first < rows; first += per_chunk)
    for (uint32_t k = 0; k < k_elements; ++k) {
      std::byte elements[kChunkBytes];
      copy_chunk(shared + descriptor.mn_major_chunk(first / per_chunk, k), layout, elements);
      for (uint32_t i = 0; i < per_chunk && first + i < rows; ++i)
        std::memcpy(out + (first + i) * stride + k * bytes, elements + i * bytes, bytes);
    }
}

}  // namespace

void fetch_shared_rows(const std::byte* shared, const MatrixDescriptor& descriptor, Major major,
                       ElementLayout layout, uint32_t rows, uint32_t k_bytes, std::byte* out,
                       size_t row_stride_bytes) {
  if (major == Major::mn)
    fetch_mn_major(shared, descriptor, layout, rows, k_bytes, out, row_stride_bytes);
  else if (descriptor.swizzle == SharedSwizzle::k128b && k_bytes == kMmaKBytes && !layout.pairs &&
           !is_padded(layout))
    fetch_k_major_128b(shared, descriptor, rows, out, row_stride_bytes);
  else
    fetch_k_major(shared, descriptor, layout, rows, k_bytes / kChunkBytes, out, row_stride_bytes);
}

void fetch_tensor_memory_rows(TensorMemory& memory, uint32_t lane, uint32_t column,
                              uint32_t columns, ElementLayout layout, std::byte* out,
                              size_t row_stride_bytes) {
  // 4-bit codes are in bits 2 to 5 of their byte, 6-bit codes in bits 0 to 5 (PTX ISA, "Packing
  // formats").
  const unsigned bits = element_bits(layout.format), shift = bits == 4 ? 2 : 0;
  const uint32_t code_mask = ((1u << (is_padded(layout) ? bits : 8)) - 1) * 0x01010101u;
  for (uint32_t c = 0; c < columns; ++c) {
    const uint32_t* const words = memory.column(column + c) + lane;
    for (size_t row = 0; row < kRowBlock; ++row) {
      const uint32_t word = is_padded(layout) ? words[row] >> shift & code_mask : words[row];
      std::byte* const place = out + row * row_stride_bytes + c * layout.unpacked(sizeof word);
      if (layout.pairs)
        unpack_pairs(reinterpret_cast<const std::byte*>(&word), sizeof word, place);
      else
        std::memcpy(place, &word, sizeof word);
    }
  }
}

}  // namespace bw::sim
