/// \file
/// Says where the tensor core finds each 16-byte chunk of an operand, for the test of the site's
/// explorer: the descriptor is decoded by the simulator, the swizzle is that of common/device.
///
/// Standard input: a line an operand, `element_bytes rows columns swizzle major(k|mn) base
/// descriptor(hexadecimal) columns_from columns_to`. Standard output: a line an operand, the
/// chunks' addresses (by row or column, then along the contiguous index), then `tile` and for each
/// linear offset of a 1024-byte tile, in chunks, where the swizzle puts it, then `made` and the
/// descriptors that common/device makes of the base (sm_100, sm_90), where it makes them.
#include <cstdint>
#include <iostream>
#include <string>

#include "common/device/shared_descriptor.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace {

/// One line of the input.
struct Operand {
  uint32_t element_bytes, rows, columns, swizzle_bytes;
  std::string major;
  uint32_t base;
  uint64_t descriptor;
  uint32_t first_column, end_column;  ///< of K: what one MMA reads
};

std::istream& operator>>(std::istream& in, Operand& operand) {
  in >> operand.element_bytes >> operand.rows >> operand.columns >> operand.swizzle_bytes >>
      operand.major >> operand.base >> std::hex >> operand.descriptor >> std::dec >>
      operand.first_column >> operand.end_column;
  return in;
}

void print_addresses(const Operand& operand) {
  const bw::sim::MatrixDescriptor descriptor =
      bw::sim::decode_matrix_descriptor(operand.descriptor);
  const uint32_t columns = operand.end_column - operand.first_column;
  if (operand.major == "k") {
    const uint32_t chunks = columns * operand.element_bytes / bw::sim::kChunkBytes;
    for (uint32_t row = 0; row < operand.rows; ++row)
      for (uint32_t chunk = 0; chunk < chunks; ++chunk)
        std::cout << descriptor.k_major_chunk(row, chunk) << ' ';
  } else {
    const uint32_t chunks = operand.rows * operand.element_bytes / bw::sim::kChunkBytes;
    for (uint32_t k = 0; k < columns; ++k)
      for (uint32_t chunk = 0; chunk < chunks; ++chunk)
        std::cout << descriptor.mn_major_chunk(chunk, k) << ' ';
  }
}

void print_tile(bw::Swizzle swizzle) {
  constexpr uint32_t kTileBytes = 1024;
  std::cout << "tile ";
  for (uint32_t offset = 0; offset < kTileBytes; offset += bw::sim::kChunkBytes)
    std::cout << bw::swizzled_offset(swizzle, offset) << ' ';
}

void print_made(const Operand& operand, bw::Swizzle swizzle) {
  const bool is_k_major = operand.major == "k";
  std::cout << "made " << std::hex;
  if (is_k_major && swizzle != bw::Swizzle::kNone)
    std::cout << bw::make_k_major_descriptor(operand.base, swizzle) << ' ';
  else
    std::cout << "- ";
  if (is_k_major && swizzle == bw::Swizzle::k128B)
    std::cout << bw::wgmma_descriptor(bw::wgmma_descriptor_low(operand.base));
  else
    std::cout << "-";
  std::cout << std::dec;
}

}  // namespace

int main() {
  Operand operand;
  while (std::cin >> operand) {
    if (const auto fault = bw::sim::check_matrix_descriptor(operand.descriptor)) {
      std::cout << "fault " << fault->what << '\n';
      continue;
    }
    const auto swizzle = static_cast<bw::Swizzle>(operand.swizzle_bytes);
    print_addresses(operand);
    print_tile(swizzle);
    print_made(operand, swizzle);
    std::cout << '\n';
  }
  return std::cin.eof() ? 0 : 1;
}
